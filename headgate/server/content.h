// A whole response of the HTTP door, and the functions that make one.
#pragma once

#include <string>
#include <string_view>

namespace headgate::server {

class Engine;
class WorkerContext;

struct Content {
  std::string_view type;  // Content-Type; of static storage
  std::string body;
  unsigned status = 200;
  std::string_view fields{};  // further field lines, each with its CRLF; of static storage
};

// Makes the response to GET and HEAD. `query` is raw, without '?'. Called on the worker's thread;
// may throw exceptions of the standard library.
using ContentMaker = Content (*)(Engine& engine, WorkerContext& worker, std::string_view query);

// Makes the response to a POST with this body.
using FormHandler = Content (*)(Engine& engine, WorkerContext& worker, std::string_view query,
                                std::string_view body);

}  // namespace headgate::server
