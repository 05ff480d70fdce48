// Any stream is read as the same commands in one part or in two, and no more bytes are kept than
// one command may have. What was read is written, and then read as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/resp_reader.h"
#include "headgate/net/resp_writer.h"

namespace {

using headgate::net::RespLimits;
using headgate::net::RespReader;
using headgate::net::RespVersion;
using headgate::net::RespWords;
using headgate::net::RespWriter;

constexpr RespLimits limits{16, 4096};

void require(bool holds) {
  if (!holds) std::abort();
}

// Reads the chunks, and returns the commands as one text, which a fault ends.
std::string read(const std::vector<std::string_view>& chunks) {
  RespWords words;
  RespReader reader(words, limits);
  std::string commands;
  RespWriter writer(commands, RespVersion::resp2);
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    std::string_view bytes = kept;
    for (;;) {
      const RespReader::Found found = reader.read(bytes);
      if (found == RespReader::Found::fault) {
        writer.error(reader.fault());
        return commands;
      }
      bytes.remove_prefix(reader.used());
      if (found == RespReader::Found::more) break;
      require(!reader.arguments().empty() && reader.arguments().size() <= limits.arguments_max);
      writer.array(reader.arguments().size());
      for (const std::string_view argument : reader.arguments()) writer.bulk(argument);
    }
    require(bytes.size() <= limits.command_max + 64);
    kept.erase(0, kept.size() - bytes.size());
  }
  return commands;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string whole = read({input});
  const std::size_t middle = size == 0 ? 0 : data[0] % (size + 1);
  require(read({input.substr(0, middle), input.substr(middle)}) == whole);
  if (whole.find('-') == std::string::npos && whole.size() < limits.command_max) {
    require(read({whole}) == whole);
  }
  return 0;
}
