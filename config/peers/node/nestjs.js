'use strict';
// @node-idempotency/nestjs as its README sets it up: in memory, or in Redis if the environment has its address.

require('reflect-metadata');
const { Controller, Get, HttpException, Module, Post, Req, UseInterceptors } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { Idempotent, NodeIdempotencyInterceptor, NodeIdempotencyModule } = require('@node-idempotency/nestjs');
const { authenticate, create, list, port } = require('./orders');

const url = process.env.REDIS_URL;
const storage = url ? { adapter: 'redis', options: { url } } : { adapter: 'memory' };

class Orders {
  async add(req) {
    try {
      return await create(req.tenant, req.body);
    } catch (error) {
      throw new HttpException(error.message, error.status ?? 500);
    }
  }

  list(req) {
    return list(req.query.reference);
  }
}

function decorate(decorators, target, name) {
  Reflect.decorate(decorators, target, name, Object.getOwnPropertyDescriptor(target, name));
}

Reflect.decorate([Controller()], Orders);
decorate([Idempotent(), Post('orders')], Orders.prototype, 'add');
decorate([Get('orders')], Orders.prototype, 'list');
Req()(Orders.prototype, 'add', 0);
Req()(Orders.prototype, 'list', 0);

class App {}
Module({ imports: [NodeIdempotencyModule.forRootAsync({ storage })], controllers: [Orders] })(App);

NestFactory.create(App, { logger: ['error'] }).then((app) => {
  app.use(authenticate);
  return app.listen(port, '127.0.0.1');
});
