// The running server that a command is about.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "headgate/base/result.h"
#include "headgate/cli/http/server_client.h"

namespace headgate::cli {

// The options of every command that shows or changes one client of a server.
struct ServerOptions {
  std::string url = "http://127.0.0.1:8081";
  std::string admin_token_file;
  bool json = false;

  void add_to(CLI::App& command);
  // Errors: a sentence about the token's file.
  [[nodiscard]] Result<std::unique_ptr<ServerClient>, std::string> open() const;
};

// Sends a request, and returns the body of an answer with status 200, valid until the next request.
// Errors: a sentence with the URL, of an answer with another status the one that it has.
[[nodiscard]] Result<std::string_view, std::string> ask(ServerClient& server,
                                                        const std::string& method,
                                                        const std::string& path,
                                                        const std::string& body = "");

}  // namespace headgate::cli
