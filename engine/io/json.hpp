#pragma once
/// JSON values. nlohmann/json parses and formats text but does not hold the values, because its destructor allocates and so terminates the
/// program if memory runs out.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attn {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;
/// What may be read from a JSON text. A value takes up to a hundred times the memory of its text.
struct JsonLimits {
    std::size_t bytes = kMaxJsonBytes;
    std::size_t values = std::size_t{1} << 22;
};
/// For the small files beside a model's weights: the largest lists have an entry for every tensor.
inline constexpr JsonLimits kSettingsLimits{.values = std::size_t{1} << 17};
inline constexpr int kMaxJsonDepth = 32;

/// null, a boolean, a number, a string, a list, or an object that keeps the order of its members.
class Json {
public:
    using List = std::vector<Json>;
    using Member = std::pair<std::string, Json>;
    using Members = std::vector<Member>;

    Json() = default;
    Json(const Json& other);
    Json(Json&&) noexcept = default;
    Json& operator=(Json other) noexcept {
        value_ = std::move(other.value_);
        return *this;
    }
    ~Json() = default;
    Json(std::nullptr_t) {}
    template <std::same_as<bool> T>
    Json(T value) : value_(value) {}
    template <std::signed_integral T>
    Json(T value) : value_(static_cast<std::int64_t>(value)) {}
    template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>) Json(T value) : value_(static_cast<std::uint64_t>(value)) {}
    Json(double value) : value_(value) {}
    Json(std::string text) : value_(std::move(text)) {}
    Json(std::string_view text) : value_(std::string(text)) {}
    Json(const char* text) : value_(std::string(text)) {}
    Json(List list) : value_(std::move(list)) {}
    Json(Members members) : value_(std::move(members)) {}
    template <class T>
    Json(const std::vector<T>& list) : value_(List(list.begin(), list.end())) {}
    Json(const std::map<std::string, std::string>& texts) : value_(Members(texts.begin(), texts.end())) {}
    /// {{"a", 1}, {"b", 2}} is an object; anything but pairs that begin with a string is a list.
    Json(std::initializer_list<Json> items);

    static Json list() { return Json(List()); }
    static Json object() { return Json(Members()); }
    /// Parses a whole text. Throws FileError naming `source`: Format for malformed text, Duplicate for a repeated field, Range for a number
    /// that is too large, Limit beyond the limits or kMaxJsonDepth. Takes linear time and memory.
    static Json parse(std::string_view text, std::string_view source, const JsonLimits& limits = {});
    /// Removes all members that are null, at every depth, for formats in which null means absent.
    void drop_null_members();

    bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
    bool is_boolean() const { return std::holds_alternative<bool>(value_); }
    bool is_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
    bool is_signed() const { return std::holds_alternative<std::int64_t>(value_); }
    bool is_number() const { return is_unsigned() || is_signed() || std::holds_alternative<double>(value_); }
    bool is_string() const { return std::holds_alternative<std::string>(value_); }
    bool is_list() const { return std::holds_alternative<List>(value_); }
    bool is_object() const { return std::holds_alternative<Members>(value_); }

    /// The value, which must have that type.
    bool boolean() const { return std::get<bool>(value_); }
    const std::string& text() const { return std::get<std::string>(value_); }
    std::uint64_t as_unsigned() const { return std::get<std::uint64_t>(value_); }
    std::int64_t as_signed() const { return std::get<std::int64_t>(value_); }
    double number() const;  ///< of any kind of number, rounded if necessary
    const List& items() const { return std::get<List>(value_); }
    const Members& members() const { return std::get<Members>(value_); }
    List& items() { return std::get<List>(value_); }
    Members& members() { return std::get<Members>(value_); }

    /// The member with this name; null if there is none.
    const Json* find(std::string_view key) const;
    /// The member with this name, created if missing; null becomes an object.
    Json& operator[](std::string_view key);
    /// Appends to a list; null becomes a list.
    void push_back(Json item);
    std::size_t size() const;  ///< of a list or an object
    bool empty() const { return size() == 0; }

    enum class InvalidUtf8 : std::uint8_t { Refuse, Replace };
    /// As text: on one line, or with `indent` spaces per level. Invalid UTF-8 throws Error or is replaced by U+FFFD.
    std::string dump(int indent = -1, InvalidUtf8 stray = InvalidUtf8::Refuse) const;

private:
    std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, List, Members> value_;
};

/// The checks Json::parse() does before parsing: nesting depth, and bytes that the parser would silently skip. Byte offsets in messages
/// start at first_byte. Throws FileError(Format or Limit).
void check_json_text(std::string_view text, std::string_view source, std::uint64_t first_byte = 0);

}  // namespace attn
