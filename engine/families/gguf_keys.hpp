#pragma once
/// The metadata of a GGUF file's architecture, and the tensors. Keys are given without the architecture's name: "block_count".

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/families/tensor_numbers.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/gguf.hpp"
#include "engine/io/json_object.hpp"
#include "engine/io/weight_files.hpp"

namespace attn {

/// Limits on what a file may say.
inline constexpr std::int64_t kMostGgufSize = std::int64_t{1} << 24;
inline constexpr double kLeastGgufFactor = std::numeric_limits<double>::min(), kMostGgufFactor = 1e9;

class GgufKeys {
public:
    GgufKeys(const GgufFile& file, const WeightFiles& weights, const std::string& architecture)
        : architecture_(architecture), json_(own_keys(file, architecture)), file_(file), weights_(weights) {}

    bool has(std::string_view key) const { return json_.has(full(key)); }
    std::int64_t size(std::string_view key, std::int64_t least = 1, std::int64_t most = kMostGgufSize) {
        std::int64_t value = 0;
        if (!read_size(key, value, least, most)) json_.fail_missing(full(key));
        return value;
    }
    /// A number, or a list with one number per layer, which must all be equal.
    bool read_size(std::string_view key, std::int64_t& value, std::int64_t least = 1, std::int64_t most = kMostGgufSize) {
        const Json* found = json_.value(full(key));
        if (found == nullptr || !found->is_list()) return json_.read(full(key), value, least, most);
        std::vector<double> layers;
        json_.read(full(key), layers, static_cast<double>(least), static_cast<double>(most));
        if (layers.empty()) fail(key, "is an empty list", FileFault::Format);
        if (std::any_of(layers.begin(), layers.end(), [&](double layer) { return layer != layers.front(); }))
            fail(key, "differs from layer to layer, which would need layers of several sizes", FileFault::Unsupported);
        if (layers.front() != std::floor(layers.front())) fail(key, "is not a whole number", FileFault::Format);
        value = static_cast<std::int64_t>(layers.front());
        return true;
    }
    bool read(std::string_view key, double& value, double least, double most) { return json_.read(full(key), value, least, most); }
    bool read(std::string_view key, bool& value) { return json_.read(full(key), value); }
    bool read(std::string_view key, std::string& value) { return json_.read(full(key), value); }
    const Json* value(std::string_view key) { return json_.value(full(key)); }
    [[noreturn]] void fail(std::string_view key, std::string_view problem, FileFault fault = FileFault::Range) const {
        json_.fail(full(key), problem, fault);
    }

    bool has_tensor(const std::string& name) const { return weights_.find(name) != nullptr; }
    /// The shape of a tensor; empty if there is none.
    std::vector<std::int64_t> shape(std::string_view name) const {
        const WeightFiles::Tensor* tensor = weights_.find(name);
        return tensor == nullptr ? std::vector<std::int64_t>() : tensor->array.shape;
    }
    /// Divisors of this many rotary frequencies; empty if there is no such tensor, or an empty one, as Ollama writes for "none".
    std::vector<double> factors(const std::string& name, std::int64_t frequencies) const {
        std::vector<double> out;
        const WeightFiles::Tensor* tensor = weights_.find(name);
        if (tensor == nullptr || tensor->array.bytes.empty()) return out;
        copy_tensor(weights_, *tensor, out);
        if (std::ssize(out) != frequencies)
            throw FileError(FileFault::Schema, weights_.file_name(*tensor), name,
                            fmt::format("has {} numbers; there are {} frequencies", out.size(), frequencies));
        for (std::size_t i = 0; i < out.size(); ++i)
            if (!(out[i] >= kLeastGgufFactor && out[i] <= kMostGgufFactor))
                throw FileError(FileFault::Range, weights_.file_name(*tensor), name,
                                fmt::format("number {} is {}, which cannot divide a frequency", i, out[i]));
        return out;
    }
    const std::string& source() const { return file_.source(); }
    /// Whether the file's name for its model contains `part`, ignoring case.
    bool is_named(std::string_view part) const {
        for (const char* key : {"general.name", "general.basename"}) {
            const Json* value = file_.find(key);
            if (value == nullptr || !value->is_string()) continue;
            std::string name = value->text();
            for (char& c : name)
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            if (name.find(part) != std::string::npos) return true;
        }
        return false;
    }

    /// Records an assumption unless the file has one of the keys.
    void assume(std::initializer_list<std::string_view> keys, std::string what) {
        if (std::none_of(keys.begin(), keys.end(), [this](std::string_view key) { return has(key); })) assumed_.push_back(std::move(what));
    }
    std::vector<std::string> take_assumed() { return std::move(assumed_); }
    /// The architecture's keys that nothing has asked for, sorted.
    std::vector<std::string> unread() const { return json_.unread(); }
    void note(std::string sentence) { notes_.push_back(std::move(sentence)); }
    std::vector<std::string> take_notes() { return std::move(notes_); }

private:
    static JsonObject own_keys(const GgufFile& file, const std::string& architecture) {
        Json::Members own;
        for (const auto& [key, value] : file.metadata())
            if (key.starts_with(architecture + ".")) own.emplace_back(key, value);
        return JsonObject::of(std::move(own), file.source());
    }
    std::string full(std::string_view key) const { return fmt::format("{}.{}", architecture_, key); }

    std::string architecture_;
    JsonObject json_;
    const GgufFile& file_;
    const WeightFiles& weights_;
    std::vector<std::string> assumed_, notes_;
};

}  // namespace attn
