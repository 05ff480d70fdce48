// Any stream is read as the same frames in one part or in two, within bounds, and their payloads as
// handshakes, messages, header sections and receipts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "headgate/net/spoe_hello.h"
#include "headgate/net/spoe_reader.h"
#include "headgate/policy/file/load.h"
#include "headgate/server/receipt.h"
#include "headgate/server/spoe/messages.h"

namespace {

using namespace headgate;

constexpr std::uint32_t frame_max = 1024;

void require(bool holds) {
  if (!holds) std::abort();
}

void read_payload(const net::SpoeFrame& frame) {
  static const auto policies =
      policy::load_text("version: 1\npolicies: [{name: p, quota: 1, window: 1s, key: []}]\n", "f");
  static net::SpoeMessages messages;
  static_cast<void>(net::SpoeHello::read(frame));
  static_cast<void>(server::Receipt::read(frame.payload, **policies, {}));
  const auto notice = server::SpoeNotice::read(frame.payload, messages);
  if (!notice) return require(!notice.error().empty());
  if (notice->request) {
    const policy::Request request = notice->request->request();
    require(!request.path.empty());
    static_cast<void>(request.headers->value("host", 1));
  }
  if (notice->response) {
    static_cast<void>(server::Receipt::read(notice->response->receipt(), **policies, {}));
  }
}

// Reads the chunks, and returns what was found as one text, which a fault ends.
std::string read(const std::vector<std::string_view>& chunks) {
  net::SpoeReader reader;
  reader.greet(frame_max);
  std::string all;
  std::string kept;
  for (const std::string_view chunk : chunks) {
    kept += chunk;
    std::string_view bytes = kept;
    for (;;) {
      const net::SpoeReader::Found found = reader.read(bytes);
      if (found == net::SpoeReader::Found::fault) {
        require(!reader.fault().what.empty() && reader.fault().what.size() < 256);
        return all + "fault " + std::string(reader.fault().what);
      }
      bytes.remove_prefix(reader.used());
      if (found == net::SpoeReader::Found::more) break;
      const net::SpoeFrame& frame = reader.frame();
      require(frame.payload.size() <= net::SpoeReader::fragments_most);
      read_payload(frame);
      all += std::to_string(frame.stream_id) + ' ' + std::to_string(frame.frame_id) + ' ';
      all += found == net::SpoeReader::Found::frame ? frame.payload : "too long";
      all += '\n';
    }
    require(bytes.size() < 4 + frame_max);
    kept.erase(0, kept.size() - bytes.size());
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = size == 0 ? 0 : data[size - 1] * std::size_t{4} % (size + 1);
  require(read({input.substr(0, middle), input.substr(middle)}) == read({input}));
  return 0;
}
