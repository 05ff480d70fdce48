#include "headgate/field/sf/serialise.h"

#include <string_view>

#include "headgate/base/hex.h"
#include "headgate/base/utf8.h"
#include "headgate/field/sf/chars.h"
#include "headgate/field/sf/write.h"

namespace headgate::field::sf {
namespace {

// Collects text, and the first error.
class Text {
 public:
  void put(char c) { text_ += c; }
  void put(std::string_view text) { text_ += text; }

  void require(bool fine, const char* what) {
    if (!fine && error_.what == nullptr) error_ = {what, text_.size()};
  }

  Result<std::string, Error> take() && {
    if (error_.what != nullptr) return Failure<Error>(error_);
    return std::move(text_);
  }

 private:
  std::string text_;
  Error error_{nullptr, 0};
};

constexpr const char* integer_range = "expected an integer of at most 15 digits";

struct BareWriter {
  Text& out;

  void operator()(std::int64_t value) const {
    out.require(write_integer(out, value), integer_range);
  }

  void operator()(Decimal value) const {
    const std::int64_t all = value.thousandths;
    if (all > thousandths_max || all < -thousandths_max) {
      return out.require(false, "expected a decimal of at most 12 digits before the point");
    }
    if (all < 0) out.put('-');
    const std::int64_t size = all < 0 ? -all : all;
    write_integer(out, size / 1000);
    const std::int64_t rest = size % 1000;
    out.put('.');
    out.put(static_cast<char>('0' + rest / 100));
    if (rest % 100 != 0) out.put(static_cast<char>('0' + rest / 10 % 10));
    if (rest % 10 != 0) out.put(static_cast<char>('0' + rest % 10));
  }

  void operator()(const std::string& value) const {
    out.require(write_string(out, value), "expected printable ASCII in a string");
  }

  void operator()(const Token& value) const {
    out.require(is_token(value.text), "expected a token: a letter or *, then tchar, : or /");
    out.put(value.text);
  }

  void operator()(const Bytes& value) const { write_bytes(out, value.bytes); }

  void operator()(bool value) const { out.put(value ? "?1" : "?0"); }

  void operator()(Date value) const {
    out.put('@');
    out.require(write_integer(out, value.seconds), integer_range);
  }

  void operator()(const DisplayString& value) const {
    out.require(is_utf8(value.utf8), "expected UTF-8 in a display string");
    out.put("%\"");
    for (const char c : value.utf8) {
      if (c >= 0x20 && c <= 0x7e && c != '%' && c != '"') {
        out.put(c);
        continue;
      }
      out.put('%');
      put_hex(out, c);
    }
    out.put('"');
  }
};

void put_key(Text& out, const std::string& key) {
  out.require(is_key(key), "expected a key: a-z or *, then a-z 0-9 _ - . *");
  out.put(key);
}

void put_parameters(Text& out, const Parameters& parameters) {
  for (const Parameter& p : parameters) {
    out.put(';');
    put_key(out, p.key);
    if (p.value == BareItem(true)) continue;
    out.put('=');
    std::visit(BareWriter{out}, p.value);
  }
}

struct MemberWriter {
  Text& out;

  void operator()(const Item& item) const {
    std::visit(BareWriter{out}, item.value);
    put_parameters(out, item.parameters);
  }

  void operator()(const InnerList& list) const {
    out.put('(');
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out.put(' ');
      (*this)(list.items[i]);
    }
    out.put(')');
    put_parameters(out, list.parameters);
  }
};

}  // namespace

Result<std::string, Error> serialise(const Item& item) {
  Text out;
  MemberWriter{out}(item);
  return std::move(out).take();
}

Result<std::string, Error> serialise(const List& list) {
  Text out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out.put(", ");
    std::visit(MemberWriter{out}, list[i]);
  }
  return std::move(out).take();
}

Result<std::string, Error> serialise(const Dictionary& dictionary) {
  Text out;
  for (std::size_t i = 0; i < dictionary.size(); ++i) {
    if (i > 0) out.put(", ");
    const auto& [key, value] = dictionary[i];
    put_key(out, key);
    const Item* item = std::get_if<Item>(&value);
    if (item != nullptr && item->value == BareItem(true)) {
      put_parameters(out, item->parameters);
    } else {
      out.put('=');
      std::visit(MemberWriter{out}, value);
    }
  }
  return std::move(out).take();
}

}  // namespace headgate::field::sf
