#include "headgate/cli/fetch/fetch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headgate/base/ascii.h"
#include "headgate/base/random.h"
#include "headgate/base/result.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/fetch/directory.h"
#include "headgate/cli/fetch/fetcher.h"
#include "headgate/cli/fetch/stdout.h"
#include "headgate/cli/fetch/url.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/printable.h"
#include "headgate/cli/standard_input.h"
#include "headgate/field/header_line.h"
#include "headgate/policy/quantity.h"

namespace headgate::cli {
namespace {

constexpr std::uint64_t body_bytes_most = std::uint64_t{1} << 60;  // more than any file system has
constexpr Nanos time_most = 365 * 86400 * nanos_per_second;  // in milliseconds it fits any long

struct Options {
  std::vector<std::string> urls;
  std::string input;
  std::string output;
  std::string mode = "paced";
  std::string wait_max;
  std::string size_max = "1GiB";
  std::string time_max = "10m";
  std::string certificates;
  std::vector<std::string> headers;
  std::size_t parallel = 4;
  unsigned retries = 5;
  std::uint64_t rate = 1000;
  bool json = false;
};

ExitStatus fail(ExitStatus status, const std::string& words) {
  print_error("headgate fetch: " + words);
  return status;
}

// Adds a URL. Otherwise prints what is wrong with it and returns false.
bool add_url(std::string_view text, const std::string& where, std::vector<FetchUrl>& urls) {
  auto url = parse_fetch_url(text);
  if (url) {
    urls.push_back(*std::move(url));
  } else {
    fail(wrong_usage, where + '"' + excerpt(text).text + "\" is no URL to fetch: " + url.error());
  }
  return url.has_value();
}

// Reads one URL per line; empty lines and those that start with '#' are skipped.
ExitStatus read_list(const std::string& name, std::vector<FetchUrl>& urls) {
  std::ifstream file;
  StandardInput standard;
  if (name != "-") file.open(name);
  std::istream& in = name == "-" ? static_cast<std::istream&>(standard) : file;
  if (!in) return fail(input_fault, name + ": cannot be read: " + std::strerror(errno));
  std::string line;
  ExitStatus status = done;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    if (!add_url(text, name + ':' + std::to_string(number) + ": ", urls)) status = input_fault;
  }
  if (in.bad()) {
    const std::string why = standard.bad() ? standard.error() : std::strerror(errno);
    return fail(input_fault, name + ": cannot be read: " + why);
  }
  return status;
}

bool is_header(const std::string& header) {
  const auto colon = header.find(':');
  // libcurl omits a field without a value: with an unset variable, all requests would lack it.
  return colon != header.npos && colon > 0 && header.find(' ') > colon &&
         !trimmed(std::string_view(header).substr(colon + 1)).empty() &&
         std::none_of(header.begin(), header.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
}

// Checked once at the start: libcurl reports a bad file for each URL, and only for https.
Result<void, std::string> check_certificates(const std::string& name) {
  std::ifstream file(name);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("-----BEGIN ") && line.find("CERTIFICATE-----") != line.npos) return {};
  }
  if (!file.eof()) {
    return Failure<std::string>(name + ": cannot be read: " + std::strerror(errno));
  }
  return Failure<std::string>(name + ": expected certificates in PEM form");
}

// Each of the next four reads options; on a fault it prints a message and returns the exit status.
ExitStatus read_bounds(const Options& options, FetchTransport& out) {
  const auto size = policy::parse_size(options.size_max, 1, body_bytes_most);
  if (!size) {
    return fail(wrong_usage,
                "--max-size \"" + excerpt(options.size_max).text + "\" " + size.error());
  }
  const auto time = policy::parse_duration(options.time_max);
  if (!time) {
    return fail(wrong_usage,
                "--max-time \"" + excerpt(options.time_max).text + "\" " + time.error());
  }
  out.body_bytes_max = *size;
  out.time_max = std::min(*time, time_most);
  return done;
}

ExitStatus read_options(const Options& options, FetcherOptions& out) {
  out.parallel = options.parallel;
  out.retries = options.retries;
  out.client.mode = options.mode == "greedy" ? client::Mode::greedy : client::Mode::paced;
  out.client.rate_max = options.rate;
  out.client.seed = random_secret().k0;
  out.transport.headers = options.headers;
  out.transport.user_agent = "headgate/" HEADGATE_VERSION;
  out.transport.certificates = options.certificates;
  for (const std::string& header : options.headers) {
    if (!is_header(header)) {
      return fail(wrong_usage, "--header \"" + excerpt(header).text +
                                   "\": expected a field's name, ':' and its value");
    }
  }
  if (!options.certificates.empty()) {
    if (auto good = check_certificates(options.certificates); !good) {
      return fail(input_fault, "--cacert " + good.error());
    }
  }
  if (!options.wait_max.empty()) {
    const auto wait_max = policy::parse_duration(options.wait_max, 0);
    if (!wait_max) {
      return fail(wrong_usage,
                  "--max-wait \"" + excerpt(options.wait_max).text + "\" " + wait_max.error());
    }
    out.wait_max = *wait_max;
  }
  return read_bounds(options, out.transport);
}

ExitStatus read_urls(const Options& options, std::vector<FetchUrl>& urls) {
  for (const std::string& url : options.urls) {
    if (!add_url(url, "", urls)) return wrong_usage;
  }
  if (!options.input.empty()) return read_list(options.input, urls);
  if (urls.empty()) return fail(wrong_usage, "nothing to fetch: expected URLs, or --input FILE");
  return done;
}

ExitStatus open_sink(const Options& options, const std::vector<FetchUrl>& urls,
                     std::unique_ptr<FetchSink>& sink) {
  if (options.output.empty()) {
    sink = std::make_unique<FetchStdout>();
    return done;
  }
  auto directory = FetchDirectory::open(options.output, urls);
  if (!directory) return fail(input_fault, directory.error());
  sink = *std::move(directory);
  return done;
}

int run(const Options& options) {
  FetcherOptions fetcher_options;
  if (const auto status = read_options(options, fetcher_options); status != done) return status;
  std::vector<FetchUrl> urls;
  if (const auto status = read_urls(options, urls); status != done) return status;
  std::unique_ptr<FetchSink> sink;
  if (const auto status = open_sink(options, urls, sink); status != done) return status;
  Fetcher fetcher(std::move(fetcher_options), std::move(urls), *sink);
  const FetchReport report = fetcher.run();

  if (report.skipped > 0) {
    std::cerr << "headgate fetch: " << report.skipped << " were complete from an earlier run\n";
  }
  if (fetcher.interrupted()) {
    std::cerr << "headgate fetch: interrupted; " << report.unfinished << " left"
              << (options.output.empty() ? "" : ": the same command goes on with them") << '\n';
  }
  if (options.json) (options.output.empty() ? std::cerr : std::cout) << report.json() << std::flush;
  if (!options.json || !options.output.empty()) std::cerr << report.text() << '\n';
  return report.failures.empty() && report.unfinished == 0 ? done : input_fault;
}

}  // namespace

std::function<int()> add_fetch(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "fetch", "Fetch URLs as fast as their servers' rate limits allow, and no faster");
  command->add_option("url", options->urls, "What to fetch, http:// or https://")->type_name("URL");
  command
      ->add_option("--input", options->input,
                   "A file with one URL per line; - is standard input; lines that start with # are "
                   "comments")
      ->type_name("FILE");
  command
      ->add_option("--output", options->output,
                   "A directory for the bodies; URLs that are complete there are not fetched again")
      ->type_name("DIR");
  command
      ->add_option("--parallel", options->parallel,
                   "The most requests at the same time; servers share them equally")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{256}).description(""));
  command
      ->add_option("--mode", options->mode,
                   "paced: spread requests over time; greedy: use up the quota, then wait")
      ->capture_default_str()
      ->type_name("MODE")
      ->check(one_of({"paced", "greedy"}));
  command
      ->add_option("--max-wait", options->wait_max,
                   "Give up a server that requires a longer wait (default: try again after at most "
                   "10 min)")
      ->type_name("TIME");
  command->add_option("--max-size", options->size_max, "Give up a URL whose body is larger")
      ->capture_default_str()
      ->type_name("SIZE");
  command
      ->add_option(
          "--max-time", options->time_max,
          "Give up a URL if one request for it takes longer, its body included; a connection "
          "on which nothing comes for 60 s counts as broken")
      ->capture_default_str()
      ->type_name("TIME");
  command->add_option("--rate", options->rate, "The most requests per second to one server")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}).description(""));
  command
      ->add_option("--retry", options->retries,
                   "How often a URL is tried again after a denial or a broken connection")
      ->capture_default_str()
      ->type_name("N")
      ->check(CLI::Range(0U, 1000U).description(""));
  command
      ->add_option("--header", options->headers,
                   "A header field for every request, \"Name: value\"; may be repeated; not sent "
                   "after redirects to another origin")
      ->type_name("FIELD")
      ->allow_extra_args(false);
  command
      ->add_option("--cacert", options->certificates,
                   "The certificates to trust (PEM), instead of the system's")
      ->type_name("FILE");
  command->add_flag("--json", options->json,
                    "Print the summary as JSON: on standard error if bodies go to standard output, "
                    "otherwise on standard output");
  command->footer(
      "Obeys RateLimit, X-RateLimit-... and Retry-After in every dialect. A limit applies to all\n"
      "requests to one origin. Without --output, complete bodies go to standard output in the\n"
      "order of the URLs. The last line is a summary, such as\n"
      "  220 fetched, 0 denied, 0 failed, 20.1 s, 1.2 s waiting\n"
      "Exit status: 0 all were fetched, 1 some were not, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
