// The replies to INFO and CONFIG GET, which some clients send when they connect.
#pragma once

#include <span>
#include <string_view>

#include "headgate/net/resp_writer.h"
#include "headgate/server/resp/door_context.h"

namespace headgate::server {

// INFO [section ...]: without sections, all except the section Headgate.
void answer_info(std::span<const std::string_view> call, RespDoorContext& door,
                 net::RespWriter& out);

// CONFIG GET name ...: the few settings of Redis that clients read; other names have no value.
void answer_config(std::span<const std::string_view> call, net::RespWriter& out);

}  // namespace headgate::server
