// The text of a response, without the protocol that it is sent with.
#pragma once

#include <string>
#include <string_view>

namespace headgate::view {

struct Page {
  std::string_view type;  // Content-Type; of static storage
  std::string body;
  unsigned status = 200;
};

}  // namespace headgate::view
