#include "headgate/net/spoe_writer.h"

namespace headgate::net {
namespace {

constexpr std::size_t length_bytes = 4;

enum class Action : char { set_variable = 1, unset_variable = 2 };
constexpr char transaction_scope = 2;

void put_big_endian(std::uint32_t number, char* out) noexcept {
  for (int shift = 24; shift >= 0; shift -= 8) *out++ = static_cast<char>(number >> shift);
}

void append_action(std::string& out, Action action, char arguments, std::string_view variable) {
  out.push_back(static_cast<char>(action));
  out.push_back(arguments);
  out.push_back(transaction_scope);
  append_spoe_text(out, variable);
}

}  // namespace

void SpoeWriter::hello(std::uint32_t frame_max, bool pipelining) {
  begin(SpoeFrameType::agent_hello, 0, 0);
  item("version", {SpoeType::string, 0, "2.0"});
  item("max-frame-size", {SpoeType::uint32, frame_max, {}});
  item("capabilities",
       {SpoeType::string, 0, pipelining ? "fragmentation,pipelining" : "fragmentation"});
  end();
}

void SpoeWriter::disconnect(const SpoeFault& fault) {
  begin(SpoeFrameType::agent_disconnect, 0, 0);
  item("status-code", {SpoeType::uint32, static_cast<std::uint64_t>(fault.status), {}});
  item("message", {SpoeType::string, 0, fault.what});
  end();
}

bool SpoeWriter::set_variable(std::string_view name, const SpoeValue& value) {
  const std::size_t from = out_.size();
  append_action(out_, Action::set_variable, 3, name);
  append_spoe_value(out_, value);
  return keep_if_it_fits(from);
}

bool SpoeWriter::unset_variable(std::string_view name) {
  const std::size_t from = out_.size();
  append_action(out_, Action::unset_variable, 2, name);
  return keep_if_it_fits(from);
}

void SpoeWriter::begin(SpoeFrameType type, std::uint64_t stream_id, std::uint64_t frame_id) {
  constexpr std::uint32_t flags = SpoeFrame::fin;
  begin_ = out_.size() + length_bytes;
  out_.resize(begin_ + 1 + sizeof flags);
  out_[begin_] = static_cast<char>(type);
  put_big_endian(flags, out_.data() + begin_ + 1);
  append_spoe_varint(out_, stream_id);
  append_spoe_varint(out_, frame_id);
}

void SpoeWriter::end() {
  put_big_endian(static_cast<std::uint32_t>(out_.size() - begin_),
                 out_.data() + begin_ - length_bytes);
}

void SpoeWriter::item(std::string_view name, const SpoeValue& value) {
  append_spoe_text(out_, name);
  append_spoe_value(out_, value);
}

bool SpoeWriter::keep_if_it_fits(std::size_t from) {
  if (out_.size() - begin_ <= frame_max_) return true;
  out_.resize(from);
  return false;
}

}  // namespace headgate::net
