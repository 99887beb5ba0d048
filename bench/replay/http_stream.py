"""A small HTTP/1.1 client for server-sent events on asyncio, with the standard library alone. One
connection a request; what it measures is when the bytes of an event had arrived."""

import asyncio
import json
import ssl
import time
import urllib.parse


class Endpoint:
    def __init__(self, base_url, api_key=None):
        url = urllib.parse.urlsplit(base_url.rstrip("/"))
        if url.scheme not in ("http", "https") or not url.hostname:
            raise SystemExit(f"{base_url} is no http or https URL")
        self.host, self.path = url.hostname, url.path
        self.port = url.port or (443 if url.scheme == "https" else 80)
        self.ssl = ssl.create_default_context() if url.scheme == "https" else None
        self.key = api_key

    def head(self, path, length):
        lines = [f"POST {self.path}{path} HTTP/1.1", f"Host: {self.host}:{self.port}",
                 "Content-Type: application/json", f"Content-Length: {length}",
                 "Connection: close"]
        if self.key:
            lines.append(f"Authorization: Bearer {self.key}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


class HttpError(Exception):
    pass


async def _pieces(reader):
    """The body as it comes, whatever its framing."""
    status = int((await reader.readline()).split()[1])
    headers = {}
    while (line := (await reader.readline()).strip()):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    if status != 200:
        raise HttpError(f"{status} {(await reader.read(2000)).decode('utf-8', 'replace')}")
    if headers.get("transfer-encoding") != "chunked":
        while (data := await reader.read(65536)):
            yield data
        return
    while (size := int(await reader.readline(), 16)):
        yield await reader.readexactly(size)
        await reader.readexactly(2)


async def post_stream(endpoint, path, body):
    """Yields (time.perf_counter() of arrival, event as an object); ends at [DONE] or with the body.
    Raises HttpError for a status other than 200, OSError and others as the connection fails."""
    reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port, ssl=endpoint.ssl,
                                                   limit=1 << 20)
    try:
        writer.write(endpoint.head(path, len(body)) + body)
        await writer.drain()
        rest = b""
        async for data in _pieces(reader):
            now = time.perf_counter()
            *events, rest = (rest + data).split(b"\n\n")
            for event in events:
                if event == b"data: [DONE]":
                    return
                if event.startswith(b"data: "):
                    yield now, json.loads(event[6:])
    finally:
        writer.close()
