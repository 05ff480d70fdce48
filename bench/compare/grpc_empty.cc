// The cost of a unary call in grpc++ itself: the same service and event queue as headgate's, but
// all responses are empty.
//
//   compare_grpc_empty ADDRESS:PORT
#include <grpcpp/grpcpp.h>
#include <ratelimit.grpc.pb.h>

#include <cstdio>
#include <deque>
#include <optional>

namespace {

namespace pb = envoy::service::ratelimit::v3;

struct Call {
  std::optional<grpc::ServerContext> context;
  std::optional<grpc::ServerAsyncResponseWriter<pb::RateLimitResponse>> writer;
  pb::RateLimitRequest request;
  pb::RateLimitResponse response;
  bool answered = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s ADDRESS:PORT\n", argv[0]);
    return 2;
  }
  pb::RateLimitService::AsyncService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4096);
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::fprintf(stderr, "listening on 127.0.0.1:%d\n", port);

  constexpr int calls_ready = 256;
  std::deque<Call> calls(calls_ready);
  const auto wait = [&](Call& call) {
    call.answered = false;
    call.writer.reset();
    call.context.emplace();
    call.writer.emplace(&*call.context);
    service.RequestShouldRateLimit(&*call.context, &call.request, &*call.writer, queue.get(),
                                   queue.get(), &call);
  };
  for (Call& call : calls) wait(call);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    Call& call = *static_cast<Call*>(tag);
    if (call.answered) {
      wait(call);
    } else if (ok) {
      call.answered = true;
      call.writer->Finish(call.response, grpc::Status::OK, &call);
    }
  }
}
