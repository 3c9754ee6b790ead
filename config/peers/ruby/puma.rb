# frozen_string_literal: true

# These numbers did best on two processors. Each thread has a connection of its own in app.rb.
workers 2
threads 4, 4
bind "tcp://#{ENV.fetch('ADDRESS')}"
environment "production"
preload_app!
quiet

# Workers cannot share the connections of the process that they are forked from.
before_fork { DB.disconnect }
