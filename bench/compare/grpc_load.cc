// A load generator for Envoy's rate limit service: calls with two descriptors, from one thread.
//
//   compare_grpc_load ADDRESS:PORT SECONDS CALLS CHANNELS [RATE]
//
// Keeps CALLS calls open over CHANNELS channels. With RATE, sends so many calls per second, evenly.
// Prints JSON: calls per second, and latencies [us], counted from when a call was sent or, with
// RATE, was due.
#include <grpcpp/grpcpp.h>
#include <ratelimit.grpc.pb.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

namespace pb = envoy::service::ratelimit::v3;
using Clock = std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

constexpr std::uint32_t users = 100'000;
constexpr std::uint32_t paths = 100;

struct Call {
  grpc::ClientContext context;
  pb::RateLimitResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<pb::RateLimitResponse>> reader;
  std::size_t channel = 0;
  Clock::time_point due;
};

class Load {
 public:
  Load(const std::string& address, std::size_t channels) {
    for (std::size_t i = 0; i < channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      const auto channel =
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
      if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(5))) {
        std::fprintf(stderr, "no answer on %s\n", address.c_str());
        std::exit(1);
      }
      stubs_.push_back(pb::RateLimitService::NewStub(channel));
    }
    request_.set_domain("bench");
    user_ = request_.add_descriptors()->add_entries();
    user_->set_key("user");
    path_ = request_.add_descriptors()->add_entries();
    path_->set_key("path");
  }

  void keep(int calls, Clock::time_point end) {
    for (int i = 0; i < calls; ++i) send(static_cast<std::size_t>(i) % stubs_.size(), Clock::now());
    while (under_way_ > 0) {
      const auto [channel, now] = receive(Clock::time_point::max());
      if (now < end) send(channel, now);
    }
  }

  void pace(double rate, Clock::time_point end) {
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t n = 0;; ++n) {
      const auto due = begin + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(static_cast<double>(n) / rate));
      if (due >= end) break;
      while (Clock::now() < due) receive(due);
      send(n % stubs_.size(), due);
    }
    while (under_way_ > 0) receive(Clock::time_point::max());
  }

  void report(double seconds) {
    std::sort(took_.begin(), took_.end());
    const auto part = [&](double share) {
      return took_.empty()
                 ? 0.0
                 : took_[static_cast<std::size_t>(static_cast<double>(took_.size() - 1) * share)];
    };
    std::printf("{\"calls\": %zu, \"rate\": %.0f, \"p50\": %.0f, \"p99\": %.0f, \"errors\": %ld}\n",
                took_.size(), static_cast<double>(took_.size()) / seconds, part(0.5), part(0.99),
                errors_);
  }

 private:
  void send(std::size_t channel, Clock::time_point due) {
    user_->set_value("user:" + std::to_string(random_() % users));
    path_->set_value("/v1/things/" + std::to_string(random_() % paths));
    auto* call = new Call;
    call->channel = channel;
    call->due = due;
    call->reader = stubs_[channel]->AsyncShouldRateLimit(&call->context, request_, &queue_);
    call->reader->Finish(&call->response, &call->status, call);
    ++under_way_;
  }

  struct Received {
    std::size_t channel;
    Clock::time_point at;
  };
  // Completes one call, or none until the deadline.
  Received receive(Clock::time_point until) {
    void* tag = nullptr;
    bool ok = false;
    if (until == Clock::time_point::max()) {
      queue_.Next(&tag, &ok);
    } else {
      const auto deadline = std::chrono::system_clock::now() + (until - Clock::now());
      if (queue_.AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return {};
    }
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    const Clock::time_point now = Clock::now();
    --under_way_;
    if (!call->status.ok()) ++errors_;
    took_.push_back(Micros(now - call->due).count());
    return {call->channel, now};
  }

  std::vector<std::unique_ptr<pb::RateLimitService::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  pb::RateLimitRequest request_;
  pb::RateLimitDescriptor::Entry* user_;
  pb::RateLimitDescriptor::Entry* path_;
  std::minstd_rand random_;
  std::vector<double> took_;
  long under_way_ = 0;
  long errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: %s ADDRESS:PORT SECONDS CALLS CHANNELS [RATE]\n", argv[0]);
    return 2;
  }
  const double seconds = std::atof(argv[2]);
  Load load(argv[1], static_cast<std::size_t>(std::atoi(argv[4])));
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  if (argc == 6) {
    load.pace(std::atof(argv[5]), end);
  } else {
    load.keep(std::atoi(argv[3]), end);
  }
  load.report(seconds);
}
