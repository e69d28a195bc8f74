#include "engine/recording/logged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/json.hpp"

namespace attn::recording {
namespace {

constexpr std::uint64_t kMostAtOnce = std::uint64_t{16} << 20;
constexpr std::size_t kMostPoints = std::size_t{1} << 22;  // of one curve
constexpr JsonLimits kLineLimits{.bytes = std::size_t{1} << 20, .values = 1024};

/// Whole lines behind `from`, which moves to their end.
std::string lines_from(const std::filesystem::path& path, std::uint64_t& from) {
    if (!has_entry(path)) return "";
    InputFile file(path);
    if (file.size() <= from) return "";
    std::string text(std::min(file.size() - from, kMostAtOnce), '\0');
    file.seek(from);
    file.read(std::as_writable_bytes(std::span(text)));
    const std::size_t end = text.rfind('\n');
    // Of a line without an end nothing is taken; one that is this long is passed over.
    from += end != std::string::npos ? end + 1 : text.size() == kMostAtOnce ? kMostAtOnce : 0;
    text.resize(end == std::string::npos ? 0 : end + 1);
    return text;
}

/// Converting what no float can hold is undefined.
float nearest_float(double value) {
    using Limits = std::numeric_limits<float>;
    if (std::abs(value) > static_cast<double>(Limits::max())) return value < 0 ? -Limits::infinity() : Limits::infinity();
    return static_cast<float>(value);
}

/// A text of which no more is kept than a person reads; it ends between two characters.
std::string beginning_of(const std::string& text) {
    if (text.size() <= kMostLoggedText) return text;
    std::size_t end = kMostLoggedText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + " …";
}

/// A number as attnscope.py writes it, where JSON has none for it; nothing for a text.
std::optional<float> number_of(const Json& value) {
    if (value.is_number()) return nearest_float(value.number());
    if (value.is_null()) return std::numeric_limits<float>::quiet_NaN();
    if (value.is_string() && value.text() == "inf") return std::numeric_limits<float>::infinity();
    if (value.is_string() && value.text() == "-inf") return -std::numeric_limits<float>::infinity();
    return {};
}

void take_numbers(Logged& logged, const Json& line, double step) {
    for (const auto& [name, value] : line.members()) {
        const std::optional<float> number = name == "step" || name == "time" ? std::nullopt : number_of(value);
        if (!number) continue;
        auto found = std::ranges::find(logged.curves, name, &LoggedCurve::name);
        if (found == logged.curves.end()) {
            if (logged.curves.size() >= kMostCurves) continue;
            found = logged.curves.insert(found, LoggedCurve{name, {}, {}});
        }
        if (found->steps.size() >= kMostPoints || (!found->steps.empty() && step < found->steps.back())) continue;
        found->steps.push_back(step);
        found->values.push_back(*number);
    }
}

void take_texts(Logged& logged, const Json& line, double step) {
    LoggedTexts one{static_cast<std::int64_t>(step), {}};
    for (const auto& [name, value] : line.members()) {
        if (name == "step") continue;
        if (value.is_string() && one.texts.size() < kMostTextsOfStep) one.texts.push_back(beginning_of(name + ": " + value.text()));
        if (!value.is_list()) continue;
        for (const Json& text : value.items())
            if (text.is_string() && one.texts.size() < kMostTextsOfStep) one.texts.push_back(beginning_of(text.text()));
    }
    if (one.texts.empty()) return;
    if (logged.texts.size() == kMostLoggedTexts) logged.texts.erase(logged.texts.begin());
    logged.texts.push_back(std::move(one));
}

template <class Take>
void take_lines(Logged& logged, std::string_view text, const std::string& source, const Take& take) {
    constexpr double kMostStep = 1e15;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        try {
            const Json json = Json::parse(line, source, kLineLimits);
            const Json* step = json.is_object() ? json.find("step") : nullptr;
            if (step == nullptr || !step->is_number() || step->number() < 0 || step->number() > kMostStep) continue;
            take(logged, json, step->number());
        } catch (const FileError&) {
            continue;
        }
    }
}

}  // namespace

std::shared_ptr<const Logged> read_logged(const std::filesystem::path& folder, std::int64_t run, const Logged* before) {
    const std::filesystem::path curves = folder / fmt::format("curves-run{}-rank0.jsonl", run);
    const std::filesystem::path texts = folder / fmt::format("texts-run{}-rank0.jsonl", run);
    std::uint64_t curve_bytes = before == nullptr ? 0 : before->curve_bytes, text_bytes = before == nullptr ? 0 : before->text_bytes;
    const std::string numbers = lines_from(curves, curve_bytes), words = lines_from(texts, text_bytes);
    if (numbers.empty() && words.empty()) return nullptr;
    auto logged = before == nullptr ? std::make_shared<Logged>() : std::make_shared<Logged>(*before);
    logged->folder = folder;
    logged->run = run;
    logged->curve_bytes = curve_bytes;
    logged->text_bytes = text_bytes;
    take_lines(*logged, numbers, curves.string(), take_numbers);
    take_lines(*logged, words, texts.string(), take_texts);
    return logged;
}

}  // namespace attn::recording
