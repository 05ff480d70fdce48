"""What the tests share: programs as child processes, clients and servers that send any bytes.

    environment   paths, and what ctest sets about the build
    processes     lines of a pipe, waiting, children
    http_client   an HTTP connection byte by byte, and requests on it
    http2         requests over HTTP/2 with any header values
    frames        a client of HTTP/2 frame by frame, and gRPC's calls on it
    floods        floods of HTTP/2 frames
    raw_server    a server that sends any bytes, and an upstream
    serve         headgate serve
    gateway       headgate gateway, and an upstream that returns what it received
    nginx         nginx with the module
    proxies       nginx and Caddy without the module
    resp          a Redis client
    envoy         gRPC's client for Node.js
    npm           packages of npm, installed into the build directory
    real_servers  one server per algorithm and dialect of the fields
    policies      texts of policy files
"""
