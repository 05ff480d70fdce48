// One request as a pacer knows it.
#pragma once

#include <cstdint>

namespace headgate::client {

// Made by Pacer::begin(); the caller keeps it until Pacer::end(). Says which of a client's requests
// the server may have decided after this one: those that were not answered when this one began,
// and those that began later. Only they can have taken from the r that its answer tells.
struct Request {
  std::uint64_t number = 0;           // 1, 2, ... in the order of beginning
  std::uint64_t answered_before = 0;  // requests that were answered when this one began
  bool heard = false;                 // its answer has come
};

// All requests of a client so far.
struct Traffic {
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;  // or given up: no answer will come
  std::uint64_t ended = 0;     // to the end of the response's body, or given up
};

}  // namespace headgate::client
