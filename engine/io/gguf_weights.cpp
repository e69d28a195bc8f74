/// The tensors of GGUF models, in one file or split over several.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "engine/io/weight_files.hpp"

namespace attn {
namespace {

constexpr std::uint64_t kMostSplits = 512;

/// Types that are not block-quantized.
constexpr std::array<std::pair<std::string_view, DType>, 8> kPlainTypes = {{{"F32", DType::F32},
                                                                            {"F16", DType::F16},
                                                                            {"BF16", DType::BF16},
                                                                            {"F64", DType::F64},
                                                                            {"I8", DType::I8},
                                                                            {"I16", DType::I16},
                                                                            {"I32", DType::I32},
                                                                            {"I64", DType::I64}}};
constexpr std::array<BlockKind, 10> kPackedTypes = {BlockKind::Q4_0, BlockKind::Q4_1, BlockKind::Q5_0, BlockKind::Q5_1, BlockKind::Q8_0,
                                                    BlockKind::Q2_K, BlockKind::Q3_K, BlockKind::Q4_K, BlockKind::Q5_K, BlockKind::Q6_K};

WeightFiles::Tensor tensor_of(const GgufTensor& stored, std::span<const std::byte> file, const std::string& source) {
    const std::string_view type = gguf_type(stored.type)->name;
    WeightFiles::Tensor tensor;
    tensor.array = {stored.name, DType::U8, stored.shape,
                    file.subspan(static_cast<std::size_t>(stored.begin), static_cast<std::size_t>(stored.end - stored.begin))};
    for (const auto& [name, dtype] : kPlainTypes)
        if (name == type) {
            tensor.array.dtype = dtype;
            return tensor;
        }
    for (const BlockKind kind : kPackedTypes)
        if (block_format(kind).name == type) {
            tensor.blocks = kind;
            return tensor;
        }
    std::string known = "F32, F16, BF16, F64";
    for (const BlockKind kind : kPackedTypes) known += fmt::format(", {}", block_format(kind).name);
    throw FileError(FileFault::Unsupported, source, fmt::format("tensor \"{}\"", escaped(stored.name)),
                    fmt::format("has type {}, which cannot be read; expected one of {}", type, known));
}

/// The number under `key`, or `usual` if it is missing.
std::uint64_t split_number(const GgufFile& file, std::string_view key, std::uint64_t usual) {
    const Json* value = file.find(key);
    if (value == nullptr) return usual;
    if (value->is_unsigned()) return value->as_unsigned();
    if (value->is_signed() && value->as_signed() >= 0) return static_cast<std::uint64_t>(value->as_signed());
    throw FileError(FileFault::Format, file.source(), key, "expected a whole number of at least 0");
}

/// A name such as "NAME-00002-of-00003": the part before the number, the number, and the count.
struct SplitName {
    std::string before;
    std::uint64_t number = 0, count = 0;
};
bool read_digits(std::string_view text, std::uint64_t& number) {
    const bool digits = std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return digits && std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}
std::optional<SplitName> split_name(const std::string& stem) {
    constexpr std::size_t kDigits = 5, kTail = 1 + kDigits + 4 + kDigits;
    if (stem.size() < kTail) return std::nullopt;
    SplitName name{stem.substr(0, stem.size() - kTail)};
    const std::string_view tail = std::string_view(stem).substr(stem.size() - kTail);
    const bool fits = tail[0] == '-' && tail.substr(1 + kDigits, 4) == "-of-" && read_digits(tail.substr(1, kDigits), name.number) &&
                      read_digits(tail.substr(5 + kDigits), name.count);
    return fits ? std::optional(name) : std::nullopt;
}

void expect_part(const GgufFile& file, std::uint64_t number, std::uint64_t count) {
    const std::uint64_t own = split_number(file, "split.no", 0), all = split_number(file, "split.count", 1);
    if (own != number || all != count)
        throw FileError(FileFault::Schema, file.source(), "split.no",
                        fmt::format("says it is part {} of {}, but its name says part {} of {}", own + 1, all, number + 1, count));
}

}  // namespace

GgufFile WeightFiles::add_gguf(const std::filesystem::path& path) {
    auto mapped = std::make_unique<const MappedFile>(path);
    MemoryInput input(mapped->bytes(), mapped->name());
    GgufFile file = GgufFile::read(input);
    mapped->require_intact();
    for (const GgufTensor& stored : file.tensors()) {
        tensors_.push_back(tensor_of(stored, mapped->bytes(), mapped->name()));
        tensors_.back().file = files_.size();
    }
    files_.push_back(std::move(mapped));
    return file;
}

std::shared_ptr<const WeightFiles> WeightFiles::open_gguf(const std::filesystem::path& path, GgufFile& file) {
    std::shared_ptr<WeightFiles> weights(new WeightFiles);
    file = weights->add_gguf(path);
    const std::uint64_t count = split_number(file, "split.count", 1);
    if (count > kMostSplits)
        throw FileError(FileFault::Limit, file.source(), "split.count", fmt::format("is {}; at most {} are read", count, kMostSplits));
    if (count > 1) {
        const std::optional<SplitName> name = split_name(path.stem().string());
        if (!name || name->count != count || name->number < 1 || name->number > count)
            throw FileError(FileFault::Schema, file.source(), "split.count",
                            fmt::format("says it is one of {} files, which must have names like NAME-00001-of-{:05}.gguf", count, count));
        weights.reset(new WeightFiles);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::string part = fmt::format("{}-{:05}-of-{:05}{}", name->before, i + 1, count, path.extension().string());
            GgufFile read = weights->add_gguf(path.parent_path() / part);
            expect_part(read, i, count);
            if (i == 0) file = std::move(read);
        }
    }
    weights->index_tensors();
    const std::uint64_t announced = split_number(file, "split.tensors.count", weights->tensors_.size());
    if (announced != weights->tensors_.size())
        throw FileError(FileFault::Schema, file.source(), "split.tensors.count",
                        fmt::format("declares {} tensors, but there are {}", announced, weights->tensors_.size()));
    return weights;
}

}  // namespace attn
