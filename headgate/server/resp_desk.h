// What the conversations of one RESP door share.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "headgate/server/station.h"
#include "headgate/server/throttle_batch.h"

namespace headgate::server {

struct RespDesk {
  RespDesk(Station& the_station, std::string the_token)
      : station(the_station), token(std::move(the_token)), throttles(the_station) {}

  Station& station;
  std::string token;  // what clients must show; empty: nothing
  ThrottleBatch throttles;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

}  // namespace headgate::server
