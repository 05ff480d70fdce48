// hiredis against the RESP door: `hiredis_client PORT`. Exit status 1: it says what was not so.

#include <hiredis/hiredis.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using Reply = std::unique_ptr<redisReply, Free>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(1);
}

// "1 2 3" of an array of integers.
std::string integers(const redisReply* reply) {
  require(reply != nullptr && reply->type == REDIS_REPLY_ARRAY, "an array");
  std::string text;
  for (std::size_t i = 0; i < reply->elements; ++i) {
    require(reply->element[i]->type == REDIS_REPLY_INTEGER, "an integer");
    text += (i == 0 ? "" : " ") + std::to_string(reply->element[i]->integer);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 2, "one argument, the port");
  const std::unique_ptr<redisContext, Free> context(redisConnect("127.0.0.1", std::atoi(argv[1])));
  require(context != nullptr && context->err == 0, "connected");

  const auto ask = [&](const char* command) {
    return Reply(static_cast<redisReply*>(redisCommand(context.get(), command)));
  };
  require(integers(ask("CL.THROTTLE user123 15 30 60").get()) == "0 16 15 -1 2", "CL.THROTTLE");
  require(integers(ask("THROTTLE c 2 1 100").get()) == "1 2 1 100 0", "THROTTLE");
  const Reply error = ask("CL.THROTTLE user123 15 0 60");
  require(error->type == REDIS_REPLY_ERROR, "an error");

  constexpr int pipelined = 1000;
  for (int i = 0; i < pipelined; ++i) {
    redisAppendCommand(context.get(), "CL.THROTTLE pipeline %d 1 1000", pipelined - 1);
  }
  for (int i = 0; i < pipelined; ++i) {
    void* reply = nullptr;
    require(redisGetReply(context.get(), &reply) == REDIS_OK, "a reply");
    const Reply owned(static_cast<redisReply*>(reply));
    const std::string expected = "0 " + std::to_string(pipelined) + ' ' +
                                 std::to_string(pipelined - 1 - i) + " -1 " +
                                 std::to_string((i + 1) * 1000);
    require(integers(owned.get()) == expected, "replies in order");
  }
  std::puts("ok");
}
