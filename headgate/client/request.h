// What a pacer records about one request.
#pragma once

#include <cstdint>

namespace headgate::client {

// Made by Pacer::begin(); the caller keeps it until Pacer::end(). It shows which of a client's
// other requests the server may have decided after this one: those that were not answered when this
// one began, and those that began later. Only they can have taken units from the r in its answer.
struct Request {
  std::uint64_t number = 0;           // 1, 2, ... in the order of beginning
  std::uint64_t answered_before = 0;  // how many requests were answered when this one began
  bool limited = false;               // a limit that the server had sent was in force
  bool answered = false;              // its answer was passed to Pacer::receive()
};

// Counts of all requests of a client so far.
struct RequestTotals {
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;  // or given up, so that no answer will come
  std::uint64_t ended = 0;     // up to the end of the response's body, or given up
};

}  // namespace headgate::client
