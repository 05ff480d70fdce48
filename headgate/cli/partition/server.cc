#include "headgate/cli/partition/server.h"

#include <nlohmann/json.hpp>

#include "headgate/cli/printable.h"
#include "headgate/net/token_file.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

// What the server says about a request that it refuses.
std::string words(const ServerClient::Answer& answer) {
  if (answer.status == 401) {
    return "the server wants a token; expected --admin-token-file FILE with its admin token";
  }
  const json problem = json::parse(answer.body, nullptr, false);
  if (problem.is_object()) {
    const auto detail = problem.find("detail");
    if (detail != problem.end() && detail->is_string())
      return printable(detail->get<std::string>());
  }
  return "answered with status " + std::to_string(answer.status) +
         "; expected the --http address of a headgate serve";
}

}  // namespace

void ServerOptions::add_to(CLI::App& command) {
  command.add_option("--url", url, "The server's HTTP address, or unix:PATH")
      ->capture_default_str()
      ->type_name("URL");
  command
      .add_option("--admin-token-file", admin_token_file,
                  "The server's admin token is on the first line of this file")
      ->type_name("FILE");
  command.add_flag("--json", json, "Print JSON");
}

Result<std::unique_ptr<ServerClient>, std::string> ServerOptions::open() const {
  if (admin_token_file.empty()) return std::make_unique<ServerClient>(url, "");
  const auto token = net::read_token(admin_token_file);
  if (!token) return Failure<std::string>(token.error());
  return std::make_unique<ServerClient>(url, *token);
}

Result<std::string_view, std::string> ask(ServerClient& server, const std::string& method,
                                          const std::string& path, const std::string& body) {
  const auto answer = server.request(method, path, body);
  if (!answer) return Failure<std::string>(answer.error());
  if (answer->status != 200) return Failure<std::string>(server.fault(words(*answer)));
  return answer->body;
}

}  // namespace headgate::cli
