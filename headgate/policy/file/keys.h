// The keys of every map of a policy file, and the words that its values may be. The readers and the
// schema use the same tables.
#pragma once

#include <span>
#include <string_view>

#include "headgate/field/form.h"
#include "headgate/limit/law.h"
#include "headgate/policy/file/map_reader.h"
#include "headgate/policy/match/cost.h"
#include "headgate/policy/policy.h"
#include "headgate/policy/settings.h"

namespace headgate::policy {

inline constexpr Key file_keys[] = {{"version"},
                                    {"client-address"},
                                    {"fields"},
                                    {"partition-key"},
                                    {"retry-after-jitter"},
                                    {"report"},
                                    {"report-when"},
                                    {"problem-details"},
                                    {"cors"},
                                    {"decisions"},
                                    {"upstream-prefix"},
                                    {"store"},
                                    {"allow"},
                                    {"include"},
                                    {"policies"},
                                    {"boulder"},
                                    {"envoy"}};
inline constexpr Key included_keys[] = {{"version"}, {"policies"}};
inline constexpr Key client_address_keys[] = {{"trusted-proxies"}, {"ipv6-prefix"}};
inline constexpr Key cors_keys[] = {{"expose-headers"}, {"preflights"}};
inline constexpr Key decisions_keys[] = {{"file"}, {"which"}, {"sample"}, {"format"}, {"key"}};
inline constexpr Key store_keys[] = {{"table"}, {"redis"}};
inline constexpr Key table_keys[] = {{"memory"}, {"file"}};
inline constexpr Key redis_keys[] = {{"nodes"},         {"cluster"}, {"sentinel"}, {"user"},
                                     {"password-file"}, {"tls"},     {"timeout"},  {"prefix"}};
inline constexpr Key redis_tls_keys[] = {{"ca"}, {"cert"}, {"key"}, {"server-name"}};
inline constexpr Key boulder_keys[] = {{"defaults"}, {"overrides"}};
inline constexpr Key envoy_keys[] = {{"file"},   {"algorithm"}, {"aligned"}, {"offset"},
                                     {"denied"}, {"reset"},     {"log"}};
inline constexpr Key policy_keys[] = {
    {"name"},      {"quota"},     {"window"},  {"rate"},          {"burst"},    {"count"},
    {"period"},    {"algorithm"}, {"aligned"}, {"offset"},        {"log"},      {"lease"},
    {"key"},       {"match"},     {"unit"},    {"cost"},          {"denied"},   {"reset"},
    {"refund-on"}, {"mode"},      {"status"},  {"overrides"},     {"sharing"},  {"on-outage"},
    {"unless"},    {"time-zone"}, {"delay"},   {"delay-waiting"}, {"candidate"}};
inline constexpr Key match_keys[] = {{"path"},   {"exact-path"}, {"method"}, {"host"},
                                     {"header"}, {"address"},    {"has"},    {"not"}};
inline constexpr std::span<const Key> not_keys = std::span(match_keys).first<7>();  // all but `not`
inline constexpr Key override_keys[] = {{"ids"},   {"quota"}, {"window"}, {"rate"},
                                        {"burst"}, {"count"}, {"period"}};
inline constexpr Key candidate_keys[] = {{"quota"}, {"window"}, {"rate"}, {"burst"},
                                         {"count"}, {"period"}, {"share"}};
inline constexpr Key cost_keys[] = {
    {"request-header"}, {"response-header"}, {"reserve"}, {"settle"}};
inline constexpr Key reserve_keys[] = {{"request-header"}, {"estimate"}};
inline constexpr Key settle_keys[] = {{"response-header"}, {"response-json"}};
inline constexpr Key denied_keys[] = {{"penalty"}};
inline constexpr Key on_outage_keys[] = {{"local"}};

// The maps that usually stand on lines of their own, where a key with a wrong indentation is read
// as a key of another map.
struct KeyHome {
  std::string_view what;
  std::span<const Key> keys;
};
// Of several homes of a key, the first is named: a policy is the most likely.
inline constexpr KeyHome key_homes[] = {{"a policy", policy_keys},
                                        {"the file", file_keys},
                                        {"client-address", client_address_keys},
                                        {"cors", cors_keys},
                                        {"store", store_keys},
                                        {"table", table_keys},
                                        {"redis", redis_keys},
                                        {"tls", redis_tls_keys},
                                        {"an entry of match", match_keys},
                                        {"an override", override_keys},
                                        {"candidate", candidate_keys},
                                        {"decisions", decisions_keys}};

// The keys that give a quota or a window, in any spelling.
inline constexpr std::string_view quota_keys[] = {"quota", "rate",   "burst",
                                                  "count", "period", "window"};

inline constexpr Choice<bool> truths[] = {{"true", true}, {"false", false}};

// A word of `fields`.
struct FieldsWord {
  field::Form form{};
  bool none = false;
  bool unix_reset = false;
};
inline constexpr Choice<FieldsWord> fields_words[] = {
    {"ratelimit", {{field::Form::ratelimit}}},
    {"draft-07", {{field::Form::draft_07}}},
    {"draft-06", {{field::Form::draft_06}}},
    {"draft-03", {{field::Form::draft_03}}},
    {"x-ratelimit", {{field::Form::x_ratelimit}}},
    {"x-ratelimit-unix", {{field::Form::x_ratelimit, false, true}}},
    {"none", {{{}, true}}}};
inline constexpr Choice<PartitionKey> partition_key_words[] = {
    {"omit", PartitionKey::omit}, {"opaque", PartitionKey::opaque}, {"plain", PartitionKey::plain}};
inline constexpr Choice<Report> report_words[] = {{"all", Report::all},
                                                  {"closest", Report::closest}};
// "below N%" is in the list for the text of faults; a value that begins so is read apart.
inline constexpr Choice<ReportWhen> report_when_words[] = {{"always", ReportWhen::always},
                                                           {"denied", ReportWhen::denied},
                                                           {"below N%", ReportWhen::below}};
// Whether policies count them.
inline constexpr Choice<bool> preflight_words[] = {{"counted", true}, {"free", false}};
inline constexpr Choice<LoggedDecisions> logged_words[] = {{"denied", LoggedDecisions::denied},
                                                           {"all", LoggedDecisions::all}};
inline constexpr Choice<LogFormat> log_format_words[] = {{"json", LogFormat::json},
                                                         {"text", LogFormat::text}};
inline constexpr Choice<bool> store_words[] = {{"table", true}};

inline constexpr Choice<limit::Algorithm> algorithm_words[] = {
    {"linear", limit::Algorithm::linear},
    {"gcra", limit::Algorithm::linear},
    {"token-bucket", limit::Algorithm::linear},
    {"leaky-bucket", limit::Algorithm::linear},
    {"exponential", limit::Algorithm::exponential},
    {"fixed-window", limit::Algorithm::fixed_window},
    {"sliding-window-counter", limit::Algorithm::sliding_window_counter},
    {"moving-window", limit::Algorithm::moving_window},
    {"concurrency", limit::Algorithm::concurrency}};
// "{penalty: 30s}" is in the list for the text of faults; a map is read apart.
inline constexpr Choice<limit::Denied> denied_words[] = {
    {"free", limit::Denied::free},
    {"spend", limit::Denied::spend},
    {"{penalty: 30s}", limit::Denied::penalty}};
inline constexpr Choice<limit::Reset> reset_words[] = {
    {"pace", limit::Reset::pace}, {"next", limit::Reset::next}, {"full", limit::Reset::full}};
inline constexpr Choice<Mode> mode_words[] = {
    {"enforce", Mode::enforce}, {"shadow", Mode::shadow}, {"off", Mode::off}};
inline constexpr Choice<limit::Sharing> sharing_words[] = {{"exact", limit::Sharing::exact},
                                                           {"leased", limit::Sharing::leased},
                                                           {"none", limit::Sharing::none}};
// "{local: 100%}" is in the list for the text of faults; a map is read apart.
inline constexpr Choice<limit::OnOutage> on_outage_words[] = {
    {"{local: 100%}", limit::OnOutage::local},
    {"allow", limit::OnOutage::allow},
    {"deny", limit::OnOutage::deny}};
// An integer and the maps are in the lists for the text of faults, and are read apart.
inline constexpr Choice<CostRule::Source> cost_words[] = {
    {"an integer", CostRule::Source::fixed},
    {"request-bytes", CostRule::Source::request_bytes},
    {"response-bytes", CostRule::Source::response_bytes},
    {"{request-header: NAME}", CostRule::Source::request_header},
    {"{response-header: NAME}", CostRule::Source::response_header},
    {"{reserve: ..., settle: ...}", CostRule::Source::fixed}};
inline constexpr Choice<CostRule::Source> settle_words[] = {
    {"response-bytes", CostRule::Source::response_bytes},
    {"{response-header: NAME}", CostRule::Source::response_header},
    {"{response-json: PATH}", CostRule::Source::response_json}};

// A key of a policy that only some algorithms use.
struct OwnKey {
  std::string_view key;
  std::span<const limit::Algorithm> owners;
  bool chooses = false;  // a policy with this key and without `algorithm` has the first of them
};
inline constexpr limit::Algorithm aligned_algorithms[] = {limit::Algorithm::fixed_window,
                                                          limit::Algorithm::sliding_window_counter};
inline constexpr limit::Algorithm calendar_algorithms[] = {limit::Algorithm::fixed_window};
inline constexpr limit::Algorithm reset_algorithms[] = {
    limit::Algorithm::linear, limit::Algorithm::exponential, limit::Algorithm::fixed_window,
    limit::Algorithm::moving_window, limit::Algorithm::sliding_window_counter};
inline constexpr limit::Algorithm log_algorithms[] = {limit::Algorithm::moving_window};
inline constexpr limit::Algorithm lease_algorithms[] = {limit::Algorithm::concurrency};
inline constexpr limit::Algorithm delay_algorithms[] = {limit::Algorithm::linear,
                                                        limit::Algorithm::fixed_window};
inline constexpr OwnKey own_keys[] = {{"aligned", aligned_algorithms},
                                      {"offset", aligned_algorithms},
                                      {"time-zone", calendar_algorithms, true},
                                      {"reset", reset_algorithms},
                                      {"log", log_algorithms},
                                      {"lease", lease_algorithms},
                                      {"delay", delay_algorithms},
                                      {"delay-waiting", delay_algorithms}};

}  // namespace headgate::policy
