// Slows down callers that guess tokens.
#pragma once

#include <chrono>
#include <optional>

#include "headgate/server/credentials.h"
#include "headgate/server/stats/decision_stats.h"

namespace headgate::server {

// One per door and worker. Callers with the right token never wait.
class WrongTokens {
 public:
  using Clock = std::chrono::steady_clock;

  // What happens to a wrong token.
  struct Answer {
    Clock::time_point at;  // not before this time
    bool is_last;          // then the connection is closed
  };

  // The connection closes with the answer to its tenth wrong token: people who type one do not need
  // more, and programs repeat the same one.
  static constexpr unsigned tries_max = 10;

  // `credentials` and `stats` outlive this. `patience` is the longest that an answer waits.
  WrongTokens(DoorKind kind, Credentials& credentials, DecisionStats& stats,
              std::chrono::seconds patience) noexcept
      : kind_(kind), credentials_(credentials), stats_(stats), patience_(patience) {}

  // Counts a wrong token, the `nth` of the connection `fd`, from 1. Returns std::nullopt if the
  // connection is to be closed without an answer. Throws std::bad_alloc.
  [[nodiscard]] std::optional<Answer> count(unsigned nth, int fd) {
    return count(nth, fd, Clock::now());
  }
  [[nodiscard]] std::optional<Answer> count(unsigned nth, int fd, Clock::time_point now);

 private:
  // The answer to the nth wrong token of a connection waits n times as long: the first one hardly
  // noticed by people.
  static constexpr std::chrono::milliseconds delay{100};
  // Between two answers to any connections: a thread answers at most 100 guesses per second, from
  // however many connections they come.
  static constexpr std::chrono::milliseconds apart{10};

  const DoorKind kind_;
  Credentials& credentials_;
  DecisionStats& stats_;
  const std::chrono::seconds patience_;
  Clock::time_point last_{};
};

}  // namespace headgate::server
