// A page of the HTTP door: a whole answer, made on request.
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

// Answers GET and HEAD. `query` is raw, without '?'. Called on the worker's thread; may throw
// what the standard library throws.
using ContentMaker = Content (*)(Engine& engine, WorkerContext& worker, std::string_view query);

// Answers POST, with the request's whole body.
using FormHandler = Content (*)(Engine& engine, WorkerContext& worker, std::string_view query,
                                std::string_view body);

}  // namespace headgate::server
