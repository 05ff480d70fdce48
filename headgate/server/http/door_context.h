// What the connections of one HTTP door share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/server/door.h"
#include "headgate/server/http/decide_request.h"
#include "headgate/server/http/parser.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {

// Working memory of one thread: a connection uses it from when bytes have come until the answers
// have gone or were put aside, and keeps nothing in it.
struct HttpDoorContext {
  HttpDoorContext(WorkerContext& its_worker, const DoorOptions& its_options)
      : worker(its_worker), options(its_options) {}

  WorkerContext& worker;
  DoorOptions options;
  std::uint32_t tick = 0;  // the time, as the door counts it
  DateLine date;
  std::array<char, 64 * 1024> input;
  std::string output;

  // For those who answer.
  std::array<char, 16 * 1024> fields;
  std::string text;
  DecideReader decide;

  static constexpr std::uint32_t ticks_per_second = 10;

  // Parsers that no connection has at the moment.
  std::unique_ptr<HttpParser> take_parser() {
    if (parsers.empty()) return std::make_unique<HttpParser>();
    std::unique_ptr<HttpParser> parser = std::move(parsers.back());
    parsers.pop_back();
    return parser;
  }
  void give_parser(std::unique_ptr<HttpParser> parser) {
    if (parsers.size() == parsers_max) return;
    parser->reset();
    parsers.push_back(std::move(parser));
  }

  static constexpr std::size_t parsers_max = 16;
  std::vector<std::unique_ptr<HttpParser>> parsers;
};

}  // namespace headgate::server
