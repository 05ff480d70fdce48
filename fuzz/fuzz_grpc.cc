// Any bytes of a client are answered with whole frames of HTTP/2, take no more memory than a
// connection may have, and end the connection or leave it as it was. The first byte chooses how the
// bytes are cut into pieces, the second whether there is a token and whether the server stops.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "headgate/server/engine.h"
#include "headgate/server/envoy/grpc_session.h"

namespace {

using namespace headgate;

void require(bool holds) {
  if (!holds) std::abort();
}

std::unique_ptr<server::Engine> open() {
  const auto home = std::filesystem::temp_directory_path() / ("fuzz" + std::to_string(getpid()));
  std::filesystem::create_directory(home);
  std::ofstream(home / "f") << "version: 1\n"
                               "policies: [{name: p, quota: 3, window: 1h, key: []}]\n"
                               "store: {table: {memory: 1MiB}}\n";
  auto engine = server::Engine::open((home / "f").string());
  std::filesystem::remove_all(home);
  require(engine.has_value());
  return *std::move(engine);
}

server::DoorOptions options(bool with_token) {
  server::DoorOptions made;
  made.threads = 1;
  if (!with_token) return made;
  const auto file = std::filesystem::temp_directory_path() / ("fuzz" + std::to_string(getpid()));
  std::ofstream(file) << "a-token-of-some-length\n";
  server::CredentialFiles files;
  files.token = file.string();
  auto credentials = server::Credentials::open(std::move(files));
  std::filesystem::remove(file);
  require(credentials.has_value());
  made.credentials = *std::move(credentials);
  return made;
}

// Removes the whole frames of `output`, which must be all of it.
void read_frames(std::string& output) {
  std::string_view rest = output;
  while (!rest.empty()) {
    require(rest.size() >= 9);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
    const std::size_t length = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
    require(rest.size() >= 9 + length);
    rest.remove_prefix(9 + length);
  }
  output.clear();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto engine = open();
  static server::WorkerContext worker(*engine);
  static server::GrpcDoorContext free_door(worker, options(false));
  static server::GrpcDoorContext token_door(worker, options(true));
  if (size < 2) return 0;
  const bool with_token = (data[1] & 1) != 0;
  const bool stops = (data[1] & 2) != 0;
  server::GrpcDoorContext& door = with_token ? token_door : free_door;
  server::GrpcSession session(door);
  session.receive("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  const std::size_t piece = data[0] + std::size_t{1};
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string output;
  if (stops) session.stop();
  while (!rest.empty() && !session.has_ended()) {
    session.receive(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
    ++door.now;
    session.expire(door.now > 10 ? door.now - 10 : 0);
    session.write(output, 64 * 1024);
    read_frames(output);
    require(session.memory_used() <=
            (session.is_trusted() ? server::Http2Memory::most : server::Http2Memory::own));
  }
  return 0;
}
