// Any stream is read as the same replies in one part or in two, within the limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/resp_reply_reader.h"

namespace {

using headgate::net::RespReply;
using headgate::net::RespReplyLimits;
using headgate::net::RespReplyReader;
using headgate::net::RespValue;

constexpr RespReplyLimits limits{64, 4, 4096};

void require(bool holds) {
  if (!holds) std::abort();
}

void append(const RespReply& reply, std::size_t depth, std::string& out) {
  require(depth <= limits.depth_max);
  out += std::to_string(static_cast<int>(reply->type));
  out += std::to_string(reply->number);
  out += reply->text;
  reply.for_each([&](const RespReply& element) { append(element, depth + 1, out); });
}

// Reads the chunks, and returns the replies as one text, which a fault ends.
std::string read(const std::vector<std::string_view>& chunks) {
  RespReplyReader reader(limits);
  std::string replies;
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    std::string_view bytes = kept;
    RespReplyReader::Found found = RespReplyReader::Found::more;
    while ((found = reader.read(bytes)) == RespReplyReader::Found::reply) {
      require(reader.used() > 0 && reader.used() <= limits.reply_max);
      append(reader.reply(), 0, replies);
      bytes.remove_prefix(reader.used());
    }
    if (found == RespReplyReader::Found::fault) return replies + reader.fault();
    kept.erase(0, kept.size() - bytes.size());
  }
  return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = size == 0 ? 0 : data[0] % (size + 1);
  require(read({input.substr(0, middle), input.substr(middle)}) == read({input}));
  return 0;
}
