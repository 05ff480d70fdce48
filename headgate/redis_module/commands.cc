#include "headgate/redis_module/commands.h"

#include <algorithm>
#include <array>

namespace headgate::redis_module {

int refuse(Context* context, std::string_view text, std::string_view more) noexcept {
  // A RESP error is one line.
  std::array<char, 320> line;
  std::size_t size = 0;
  for (const std::string_view part : {text, more}) {
    for (const char c : part.substr(0, line.size() - 1 - size)) {
      line[size++] = c == '\0' || c == '\r' || c == '\n' ? ' ' : c;
    }
  }
  line[size] = '\0';
  return api.reply_error(context, line.data());
}

}  // namespace headgate::redis_module
