#include "headgate/server/worker_context.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace headgate::server {
namespace {

// [bytes] The log cuts what is longer.
constexpr std::size_t note_max = 512;

gate::DecisionScene scene_of(DoorKind door) noexcept {
  using namespace std::chrono;
  gate::DecisionScene scene{.door = door_names[static_cast<std::size_t>(door)]};
  scene.unix_ms = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  return scene;
}

}  // namespace

WorkerContext::WorkerContext(Engine& engine)
    : engine_(engine),
      in_force_(engine.in_force()),
      jobs_(answers_),
      answers_(!engine.store().completes_at_once()) {
  engine_.add(*this);
}

WorkerContext::~WorkerContext() { engine_.remove(*this); }

const PolicySnapshot& WorkerContext::in_force() {
  if (in_force_->number() != engine_.number()) in_force_ = engine_.in_force();
  return *in_force_;
}

DecisionJob* WorkerContext::begin() {
  DecisionJob* const job = jobs_.spare();
  if (job == nullptr) return nullptr;
  job->snapshot = &in_force();
  job->began = now();
  job->decision.waits = gate::Waits::no;
  job->note.known = false;
  job->settles = false;
  return job;
}

DecisionJob* WorkerContext::begin_settlement() {
  DecisionJob* const job = answers_.is_full_of_settlements() ? nullptr : begin();
  if (job != nullptr) job->settles = true;
  return job;
}

void WorkerContext::note(DecisionJob& job, const policy::Request& request) {
  const policy::Settings& settings = job.snapshot->policies().settings();
  if (!settings.decisions) return;
  gate::AddressRoom address;
  job.note.method = request.method.substr(0, note_max);
  job.note.host = request.host.substr(0, note_max);
  job.note.path = request.path.substr(0, note_max);
  job.note.client = gate::client_text(request, settings, address);
  job.note.known = true;
}

void WorkerContext::report_too_many(Instant now) noexcept {
  constexpr Nanos apart = 10 * nanos_per_second;  // more lines would say no more
  if (reported_too_many_ && now.ns - reported_too_many_->ns < apart) return;
  reported_too_many_ = now;
  spdlog::error("a request was denied because it has more than {} policies",
                policy::policies_per_request_max);
}

void WorkerContext::log(DoorKind door, const DecisionJob& job) noexcept {
  const policy::DecisionLogSettings& log = *job.snapshot->policies().settings().decisions;
  if (!gate::has_line(log, job.decision) || !sampler_.choose(log.sample_percent)) return;
  gate::DecisionScene scene = scene_of(door);
  if (job.note.known) {
    scene.method = job.note.method;
    scene.host = job.note.host;
    scene.path = job.note.path;
    scene.client = job.note.client;
  }
  gate::DecisionLineRoom room;
  engine_.decision_log().add(gate::write_line(log, scene, job.decision, room));
}

void WorkerContext::log(DoorKind door, const PolicySnapshot& snapshot, gate::LoneDecision decision,
                        std::string_view key) noexcept {
  const auto& log = snapshot.policies().settings().decisions;
  if (!log || !gate::has_line(*log, decision) || !sampler_.choose(log->sample_percent)) return;
  decision.opaque = snapshot.gate().opaque(key);
  gate::DecisionLineRoom room;
  engine_.decision_log().add(gate::write_line(*log, scene_of(door), decision, room));
}

}  // namespace headgate::server
