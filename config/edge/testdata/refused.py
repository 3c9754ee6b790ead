"""Sends requests that are refused while their body is still coming, by clients that write before they read.

Reads an object with an address, sizes, attempts and cases from standard input. Prints one line for each client, size
and attempt that did not see the status of its case.
"""
import http.client
import json
import socket
import sys
import urllib.error
import urllib.request


def by_urllib(host, case, body):
    request = urllib.request.Request(f"http://{host}{case['path']}", data=body, headers=case["header"],
                                     method=case["method"])
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as refusal:
        refusal.read()
        return refusal.code


def by_http_client(host, case, body):
    connection = http.client.HTTPConnection(host, timeout=60)
    # The second request shows that the connection stays usable, or is given up in a way that the client notices.
    for _ in range(2):
        connection.request(case["method"], case["path"], body=body, headers=case["header"])
        answer = connection.getresponse()
        answer.read()
    connection.close()
    return answer.status


def in_chunks(host, case, body):
    connection = http.client.HTTPConnection(host, timeout=60)
    pieces = (body[at:at + 65536] for at in range(0, len(body), 65536))
    connection.request(case["method"], case["path"], body=pieces, headers=case["header"], encode_chunked=True)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def by_hand(host, case, body):
    name, port = host.split(":")
    head = [f"{case['method']} {case['path']} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    head += [f"{field}: {value}" for field, value in case["header"].items()]
    with socket.create_connection((name, int(port)), timeout=60) as connection:
        connection.sendall("\r\n".join(head + ["", ""]).encode() + body)
        with connection.makefile("rb") as answer:
            return int(answer.readline().split()[1])


plan = json.load(sys.stdin)
for case in plan["cases"]:
    for size in plan["sizes"]:
        if size < case["from"]:
            continue
        body = b"x" * size
        for client in (by_urllib, by_http_client, in_chunks, by_hand):
            for attempt in range(plan["attempts"]):
                try:
                    got = client(plan["host"], case, body)
                except Exception as broken:  # Whatever it is, the refusal was not seen.
                    got = repr(broken)
                if got != case["want"]:
                    print(case["name"], client.__name__, size, attempt, got)
