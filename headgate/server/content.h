// A whole response of the HTTP door, and the functions that make one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headgate::server {

class DecisionJob;
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

// Makes the response to a POST, whose decision may come later. Called on the worker's thread; may
// throw exceptions of the standard library.
struct FormHandler {
  // `job`: of WorkerContext::begin(). std::nullopt: the decision is outstanding.
  std::optional<Content> (*begin)(WorkerContext& worker, std::string_view body,
                                  DecisionJob& job) = nullptr;
  // Makes the response of a decision that is there.
  Content (*finish)(WorkerContext& worker, const DecisionJob& job) = nullptr;
};

}  // namespace headgate::server
