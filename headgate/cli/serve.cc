#include "headgate/cli/serve.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/patient_output.h"
#include "headgate/cli/reload_signals.h"
#include "headgate/net/endpoint.h"
#include "headgate/server/envoy/grpc_door.h"
#include "headgate/server/envoy/json.h"
#include "headgate/server/http/door.h"
#include "headgate/server/log.h"
#include "headgate/server/resp/door.h"
#include "headgate/server/server.h"
#include "headgate/server/spoe/door.h"

namespace headgate::cli {
namespace {

// The doors of one protocol: their option, and the addresses given for it.
struct Doors {
  server::DoorKind kind;
  const char* option;
  const char* about;
  server::MakeDoor make_door;
  std::vector<std::string> at;
};

struct Options {
  std::string config;
  std::vector<Doors> doors = {
      {server::DoorKind::http,
       "--http",
       "Answer forward-auth and /v1/decide at this address",
       server::make_http_door,
       {}},
      {server::DoorKind::resp,
       "--resp",
       "Answer Redis clients (RESP) at this address",
       server::make_resp_door,
       {}},
      {server::DoorKind::grpc,
       "--grpc",
       "Answer Envoy's rate limit requests at this address",
       server::make_grpc_door,
       {}},
      {server::DoorKind::spoe,
       "--spoe",
       "Answer HAProxy (SPOE) at this address",
       server::make_spoe_door,
       {}},
  };
  server::CredentialFiles credentials;
  std::string overrides_file;
  std::string log = "text";
  server::DoorOptions door;
};

int fail(ExitStatus status, const std::string& words) {
  print_error("headgate: " + words);
  return status;
}

// Returns why callers of this address cannot be told from others, if that is so.
std::optional<std::string> exposure_of(const Doors& doors, const net::Endpoint& endpoint,
                                       const server::CredentialFiles& credentials) {
  const std::string where = doors.option + (' ' + endpoint.text());
  if (doors.kind != server::DoorKind::spoe) {
    if (endpoint.is_local() || !credentials.token.empty()) return std::nullopt;
    return where +
           ": other machines could reach it, so it needs --token-file FILE with the token that "
           "callers must show; or listen on 127.0.0.1";
  }
  const bool needs_proof = !endpoint.is_local() || !credentials.token.empty();
  if (endpoint.is_unix() || !needs_proof || !credentials.tls.client_ca.empty()) return std::nullopt;
  return where +
         ": SPOE has no token, so with --token-file, or where other machines could reach it, it "
         "needs --client-ca FILE; or listen on unix:PATH";
}

int run(const Options& options) {
  hold_reload_signals();
  const auto log_format = options.log == "json" ? server::LogFormat::json : server::LogFormat::text;
  const PatientErrors errors(
      [&](const std::string& words) { return server::warning_line(log_format, words); });
  server::ServerOptions serving;
  serving.door = options.door;
  serving.door.envoy_json = server::envoy_json();
  for (const Doors& doors : options.doors) {
    for (const std::string& text : doors.at) {
      auto endpoint = net::Endpoint::parse(text);
      if (!endpoint) return fail(wrong_usage, doors.option + (' ' + endpoint.error()));
      if (const auto fault = exposure_of(doors, *endpoint, options.credentials)) {
        return fail(wrong_usage, *fault);
      }
      serving.listening.push_back({doors.kind, std::move(*endpoint), doors.make_door});
    }
  }
  if (serving.listening.empty()) {
    std::string names;
    for (const Doors& doors : options.doors) {
      names += (names.empty() ? "" : ", ") + std::string(doors.option);
    }
    return fail(wrong_usage, "serve: nothing to listen on; expected at least one of " + names);
  }
  auto credentials = server::Credentials::open(options.credentials);
  if (!credentials) return fail(input_fault, credentials.error());
  serving.door.credentials = std::move(*credentials);
  const auto engine =
      server::Engine::open(options.config, {.overrides_file = options.overrides_file});
  if (!engine) {
    for (const std::string& fault : engine.error()) print_error(fault);
    return input_fault;
  }
  server::start_log(log_format);
  const auto served = server::run_server(**engine, std::move(serving));
  if (!served) return fail(input_fault, served.error());
  return done;
}

void add_seconds(CLI::App& command, const std::string& option, std::chrono::seconds& time,
                 const std::string& about) {
  command
      .add_option_function<unsigned>(
          option, [&time](unsigned seconds) { time = std::chrono::seconds(seconds); }, about)
      ->default_str(std::to_string(time.count()))
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 86400).description(""));
}

void add_credentials(CLI::App& command, server::CredentialFiles& files) {
  const auto add = [&](const char* option, std::string& path, const char* about) {
    return command.add_option(option, path, about)->type_name("FILE");
  };
  CLI::Option* token = add("--token-file", files.token,
                           "Clients must send the token on the first line of this file: HTTP "
                           "Authorization: Bearer, RESP AUTH, gRPC metadata");
  add("--read-token-file", files.read_token,
      "The token in this file may only read metrics, lists and policies (HTTP)")
      ->needs(token);
  add("--admin-token-file", files.admin_token,
      "The token in this file may also give quotas back and override them (HTTP); no caller may "
      "without it");
  CLI::Option* cert = add("--tls-cert", files.tls.cert,
                          "TLS at every TCP listener, with the certificate chain in this PEM file");
  CLI::Option* key = add("--tls-key", files.tls.key, "The certificate's private key");
  cert->needs(key);
  key->needs(cert);
  add("--client-ca", files.tls.client_ca,
      "Clients must have a certificate of an authority in this PEM file")
      ->needs(cert);
}

}  // namespace

std::function<int()> add_serve(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand("serve", "Run the decision server");
  command->add_option("--config", options->config, "The policy file")
      ->required()
      ->type_name("FILE");
  for (Doors& doors : options->doors) {
    command->add_option(doors.option, doors.at, doors.about)
        ->type_name("ADDR:PORT|unix:PATH")
        ->allow_extra_args(false);
  }
  add_credentials(*command, options->credentials);
  command
      ->add_option("--overrides-file", options->overrides_file,
                   "Keep overrides in this file (default: FILE.overrides, with the table's file)")
      ->type_name("FILE");
  command
      ->add_option("--threads", options->door.threads,
                   "Worker threads (default: one per processor)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  add_seconds(*command, "--idle-timeout", options->door.idle,
              "Close a connection after so long without a request");
  add_seconds(*command, "--request-timeout", options->door.patience,
              "Close a connection if a request takes longer to arrive, or its response to be read");
  command
      ->add_option("--max-connections", options->door.connections_max,
                   "The most connections per listener and thread; further ones are refused")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}).description(""));
  command->add_option("--log", options->log, "Log lines as text or json")
      ->capture_default_str()
      ->type_name("FORMAT")
      ->check(one_of({"text", "json"}));
  command->footer(
      "SIGUSR1 opens the decision log again. SIGHUP does, too, and reads the policy file, tokens\n"
      "and certificates again; a file with faults is refused "
      "and the old one stays in force.\nSIGINT and SIGTERM finish the requests that have begun, "
      "then stop; a second one "
      "stops "
      "at once.\n"
      "Exit status: 0 done, 1 a file or an address could not be used, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
