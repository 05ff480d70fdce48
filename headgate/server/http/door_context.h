// The state that the connections of one HTTP door share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headgate/server/channel.h"
#include "headgate/server/credentials.h"
#include "headgate/server/door.h"
#include "headgate/server/http/decide_request.h"
#include "headgate/server/http/parser.h"
#include "headgate/server/http/reply.h"
#include "headgate/server/http/settle_request.h"
#include "headgate/server/worker_context.h"
#include "headgate/server/wrong_tokens.h"

namespace headgate::server {

// Working memory of one thread. A connection uses it from the arrival of bytes until it has sent
// the answers or copied the unsent ones, and keeps nothing in it.
struct HttpDoorContext {
  HttpDoorContext(WorkerContext& its_worker, const DoorOptions& its_options)
      : worker(its_worker),
        options(its_options),
        credentials(*options.credentials),
        wrong_tokens(DoorKind::http, *options.credentials, worker.stats(), options.patience) {}

  WorkerContext& worker;
  DoorOptions options;
  CredentialsView credentials;
  WrongTokens wrong_tokens;
  DateLine date;
  Channel::Unsent unsent;
  std::array<char, 64 * 1024> input;  // as long as the longest body, so that most come in one turn
  std::string output;

  // Working memory of the functions that answer a request.
  std::array<char, 16 * 1024> fields;  // as long as the longest head that common clients accept
  std::string text;
  DecideReader decide;
  SettleReader settle;

  // Parsers that no connection uses at the moment.
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

  // Kept to avoid allocations. Few connections are in the middle of a request at the same time: a
  // request that arrives whole needs its parser only while it is answered.
  static constexpr std::size_t parsers_max = 16;
  std::vector<std::unique_ptr<HttpParser>> parsers;
};

}  // namespace headgate::server
