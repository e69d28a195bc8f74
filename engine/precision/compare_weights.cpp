#include "engine/precision/compare_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/explain/packed_words.hpp"
#include "engine/families/tensor_numbers.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/while_intact.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/tensor/error.hpp"

namespace attn {
namespace {

constexpr const char *kHeadWeight = "lm_head.weight", *kTableWeight = "token_embedding.weight";

/// A map is compared one row per output, a table one row per word or position.
bool is_map_name(std::string_view name, const ParameterPlace& place) {
    const bool table = name.ends_with("embedding.weight") || name.ends_with("position_bias.weight");
    return place.whole->shape.rank() == 2 && !table;
}

bool holds_gains_less_one(const Config& config, std::string_view name) {
    return config.norm_kind == NormKind::RmsPlusOne && name.find("norm") != std::string_view::npos;
}

/// A parameter of one of the models, and where it is stored.
struct WeightPart {
    ParameterPlace place;
    const WeightFiles::Tensor* tensor = nullptr;
    const TensorSource* source = nullptr;
    bool used_as_head = false;  ///< an embedding table that is also the output head
};

/// A parameter's numbers: for a map one row per output, else the parameter's own rows.
struct WeightRows {
    std::int64_t rows = 0, columns = 0;
    std::vector<float> numbers;
};

/// One of the two models. Keeps the last tensor read, which often holds the next parameter, too.
class WeightSide {
public:
    explicit WeightSide(const ModelFolder& folder) : folder_(folder), layout_(folder.config) {
        for (const TensorUse& use : folder.tensors)
            for (const TensorSource& source : use.parameters)
                parts_[source.parameter] = {layout_.place(source.parameter), use.tensor, &source, false};
        if (folder.config.tied_lm_head && folder.config.lm_head && folder.config.embedding_width() == folder.config.d_model) {
            WeightPart head = parts_.at(kTableWeight);
            head.used_as_head = true;
            tied_head_ = head;
        }
    }

    /// Names of all parameters in layout order, including the parts of packed entries.
    std::vector<std::string> names() const {
        std::vector<std::pair<std::int64_t, std::string>> placed;
        for (const auto& [name, part] : parts_) placed.emplace_back(part.place.offset(), name);
        std::sort(placed.begin(), placed.end());
        std::vector<std::string> names;
        for (auto& [offset, name] : placed) names.push_back(std::move(name));
        return names;
    }
    /// Null if the model has none. A tied head is found by name although names() does not list it.
    const WeightPart* find(const std::string& name) const {
        const auto found = parts_.find(name);
        if (found != parts_.end()) return &found->second;
        return name == kHeadWeight && tied_head_ ? &*tied_head_ : nullptr;
    }

    WeightRows rows(const WeightPart& part) {
        if (read_ != part.tensor) copy_tensor(*folder_.weights, *part.tensor, stored_), read_ = part.tensor;
        const TensorSource& source = *part.source;
        const std::int64_t inputs = part.place.rows(), outputs = part.place.columns;
        const std::int64_t stored_outputs = source.runs.empty() ? outputs : source.outputs;
        std::vector<std::int64_t> stored_at;  // stored index of each output
        for (const OutputRun& run : source.runs.empty() ? std::vector<OutputRun>{{0, outputs}} : source.runs)
            for (std::int64_t i = 0; i < run.count; ++i) stored_at.push_back(run.first + i);
        const bool by_output = is_map(part);
        WeightRows out{by_output ? outputs : inputs, by_output ? inputs : outputs, {}};
        out.numbers.resize(static_cast<std::size_t>(inputs * outputs));
        const float shift = is_gain_less_one(part) ? 1.0F : 0.0F;
        parallel_for(out.rows, out.columns, [&](std::int64_t row) {
            for (std::int64_t column = 0; column < out.columns; ++column) {
                const std::int64_t input = by_output ? column : row, output = stored_at[static_cast<std::size_t>(by_output ? row : column)];
                const std::int64_t at = source.transposed ? output * inputs + input : (source.first_row + input) * stored_outputs + output;
                out.numbers[static_cast<std::size_t>(row * out.columns + column)] = stored_[static_cast<std::size_t>(at)] + shift;
            }
        });
        return out;
    }

    const ModelFolder& folder() const { return folder_; }
    /// A tied table is not a map, but its rows are words like those of a head.
    static bool is_map(const WeightPart& part) { return is_map_name(part.source->parameter, part.place); }

private:
    bool is_gain_less_one(const WeightPart& part) const { return holds_gains_less_one(folder_.config, part.source->parameter); }

    const ModelFolder& folder_;
    ParameterLayout layout_;
    std::map<std::string, WeightPart> parts_;
    std::optional<WeightPart> tied_head_;
    const WeightFiles::Tensor* read_ = nullptr;
    std::vector<float> stored_;
};

/// Error sums; NaN stays NaN.
struct ErrorSums {
    double max = 0, squares = 0, own_squares = 0;
    std::int64_t count = 0;

    void add(double a, double b) {
        const double error = std::abs(b - a);
        if (!(error <= max)) max = std::isnan(max) ? max : error;
        squares += error * error;
        own_squares += a * a;
        ++count;
    }
    void add(const ErrorSums& other) {
        if (!(other.max <= max)) max = std::isnan(max) ? max : other.max;
        squares += other.squares;
        own_squares += other.own_squares;
        count += other.count;
    }
    double rms() const { return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count)); }
    double relative() const { return squares == 0 ? 0 : std::sqrt(squares / own_squares); }
};

ErrorSums sums_of(const WeightRows& a, const WeightRows& b, std::int64_t first, std::int64_t count) {
    ErrorSums sums;
    for (std::int64_t i = first; i < first + count; ++i)
        sums.add(static_cast<double>(a.numbers[static_cast<std::size_t>(i)]), static_cast<double>(b.numbers[static_cast<std::size_t>(i)]));
    return sums;
}

/// Larger errors first, NaN before all others.
bool is_worse(const BlockError& a, const BlockError& b) {
    if (std::isnan(a.rms) || std::isnan(b.rms)) return std::isnan(a.rms) && !std::isnan(b.rms);
    return a.rms > b.rms;
}

/// Numbers of a row that share a block; the whole row if neither is block-quantized.
std::int64_t block_of(const WeightPart& a, const WeightPart& b, std::int64_t columns) {
    for (const WeightPart* part : {&b, &a})
        if (part->tensor->blocks) return std::min(columns, block_format(*part->tensor->blocks).numbers);
    return columns;
}

WeightError compare_part(const WeightPart& part_a, const WeightRows& a, const WeightPart& part_b, const WeightRows& b, ErrorSums& sums) {
    WeightError out{part_a.source->parameter,
                    a.rows,
                    a.columns,
                    WeightSide::is_map(part_a) || part_a.used_as_head || part_b.used_as_head,
                    part_a.tensor->type_name(),
                    part_b.tensor->type_name()};
    const bool packed = part_a.tensor->blocks || part_b.tensor->blocks;
    const std::int64_t block = block_of(part_a, part_b, a.columns);
    std::vector<ErrorSums> rows(static_cast<std::size_t>(a.rows));
    std::vector<std::vector<BlockError>> worst(rows.size());
    parallel_for(a.rows, a.columns, [&](std::int64_t row) {
        const auto r = static_cast<std::size_t>(row);
        for (std::int64_t first = 0; first < a.columns; first += block) {
            const std::int64_t count = std::min(block, a.columns - first);
            const ErrorSums block_sums = sums_of(a, b, row * a.columns + first, count);
            rows[r].add(block_sums);
            if (packed && block_sums.squares != 0) worst[r].push_back({row, first, count, block_sums.max, block_sums.rms()});
        }
        std::stable_sort(worst[r].begin(), worst[r].end(), is_worse);
        worst[r].resize(std::min(worst[r].size(), kWorstBlocks));
    });
    for (std::size_t row = 0; row < rows.size(); ++row) {
        sums.add(rows[row]);
        out.worst.insert(out.worst.end(), worst[row].begin(), worst[row].end());
    }
    std::stable_sort(out.worst.begin(), out.worst.end(), is_worse);
    out.worst.resize(std::min(out.worst.size(), kWorstBlocks));
    out.max = sums.max, out.rms = sums.rms(), out.relative = sums.relative();
    return out;
}

std::string shown_path(const ModelFolder& folder) { return escaped(folder.path.native(), 0); }

/// The parameters to compare, in order. A head of one model may correspond to the tied table of the other.
std::vector<std::string> common_names(const WeightSide& a, const WeightSide& b) {
    const Config &of_a = a.folder().config, &of_b = b.folder().config;
    for (const Stack stack : {Stack::Encoder, Stack::Decoder})
        if (const std::int64_t here = of_b.layers_of(stack), there = of_a.layers_of(stack); here != there)
            throw FileError(FileFault::Schema, shown_path(b.folder()), "",
                            fmt::format("the number of layers is {}, and in {} it is {}: this is a different model", here,
                                        shown_path(a.folder()), there));
    std::vector<std::string> names = a.names();
    const auto require = [](const WeightSide& side, const WeightSide& other, const std::string& name) {
        if (side.find(name) == nullptr)
            throw FileError(FileFault::Schema, shown_path(side.folder()), name,
                            fmt::format("this parameter of {} is missing: this is a different model", shown_path(other.folder())));
    };
    for (const std::string& name : names) require(b, a, name);
    for (const std::string& name : b.names()) {
        require(a, b, name);
        if (name == kHeadWeight && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

/// The parameter in both models; throws FileError if the shapes differ.
std::pair<WeightRows, WeightRows> rows_of_both(WeightSide& a, WeightSide& b, const std::string& name) {
    const WeightPart *part_a = a.find(name), *part_b = b.find(name);
    for (const auto& [side, part] : {std::pair(&a, part_a), std::pair(&b, part_b)})
        if (part == nullptr) throw FileError(FileFault::Schema, shown_path(side->folder()), name, "there is no such parameter");
    std::pair<WeightRows, WeightRows> both{a.rows(*part_a), b.rows(*part_b)};
    const auto& [rows_a, rows_b] = both;
    if (rows_a.rows != rows_b.rows || rows_a.columns != rows_b.columns)
        throw FileError(FileFault::Schema, shown_path(b.folder()), name,
                        fmt::format("has {} rows of {} numbers; in {} it has {} of {}: this is a different model", rows_b.rows,
                                    rows_b.columns, shown_path(a.folder()), rows_a.rows, rows_a.columns));
    return both;
}

/// Accumulates the errors of all parameters of a kind.
class KindSums {
public:
    void add(const WeightError& error, const ErrorSums& sums, std::vector<WeightKindError>& kinds) {
        const std::string kind = weight_kind(error.parameter);
        auto at = static_cast<std::size_t>(
            std::find_if(kinds.begin(), kinds.end(), [&](const WeightKindError& known) { return known.kind == kind; }) - kinds.begin());
        if (at == kinds.size()) {
            kinds.push_back({kind, 0, error.type_a, error.type_b});
            sums_.emplace_back();
        }
        WeightKindError& known = kinds[at];
        sums_[at].add(sums);
        ++known.parameters;
        if (known.type_a != error.type_a) known.type_a = {};
        if (known.type_b != error.type_b) known.type_b = {};
        known.max = sums_[at].max, known.rms = sums_[at].rms(), known.relative = sums_[at].relative();
    }

private:
    std::vector<ErrorSums> sums_;
};

/// How many numbers share a scale; 0 if neither is block-quantized.
std::int64_t group_of(const WeightPart& a, const WeightPart& b, std::int64_t columns) {
    for (const WeightPart* part : {&b, &a})
        if (part->tensor->blocks) return std::min(columns, block_format(*part->tensor->blocks).group);
    return 0;
}

std::int64_t parts_of(std::int64_t whole, std::int64_t part) { return (whole + part - 1) / part; }

}  // namespace

std::string weight_kind(std::string_view parameter) {
    constexpr std::string_view kLayers = "layers.";
    const std::size_t at = parameter.find(kLayers);
    if (at == std::string_view::npos) return std::string(parameter);
    const std::size_t number = at + kLayers.size(), end = parameter.find('.', number);
    if (end == std::string_view::npos) return std::string(parameter);
    return std::string(parameter.substr(0, number)) + "*" + std::string(parameter.substr(end));
}

namespace {

WeightComparison compare_all(const ModelFolder& a, const ModelFolder& b, const WeightProgress& each, const std::stop_token& stop) {
    WeightSide side_a(a), side_b(b);
    WeightComparison out;
    ErrorSums all;
    KindSums kinds;
    const std::vector<std::string> names = common_names(side_a, side_b);
    if (each) each(out, names.size());
    for (const std::string& name : names) {
        if (stop.stop_requested()) throw Cancelled();
        const auto [rows_a, rows_b] = rows_of_both(side_a, side_b, name);
        ErrorSums sums;
        WeightError error = compare_part(*side_a.find(name), rows_a, *side_b.find(name), rows_b, sums);
        error.parameter = name;
        all.add(sums);
        kinds.add(error, sums, out.kinds);
        out.parameters.push_back(std::move(error));
        out.numbers = all.count, out.max = all.max, out.rms = all.rms(), out.relative = all.relative();
        if (each) each(out, names.size());
    }
    return out;
}

WeightErrorMap error_map_of(const ModelFolder& a, const ModelFolder& b, const std::string& parameter, std::int64_t most_rows,
                            std::int64_t most_columns, const std::stop_token& stop) {
    if (stop.stop_requested()) throw Cancelled();
    WeightSide side_a(a), side_b(b);
    const auto both = rows_of_both(side_a, side_b, parameter);
    const WeightRows &rows_a = both.first, &rows_b = both.second;
    WeightErrorMap map;
    map.rows = rows_a.rows;
    map.columns = rows_a.columns;
    map.group = group_of(*side_a.find(parameter), *side_b.find(parameter), map.columns);
    map.tile_rows = parts_of(std::max<std::int64_t>(map.rows, 1), most_rows);
    const std::int64_t least = std::max<std::int64_t>(map.group, 1);
    map.tile_columns = least * parts_of(parts_of(std::max<std::int64_t>(map.columns, 1), least), most_columns);
    map.map_rows = parts_of(map.rows, map.tile_rows);
    map.map_columns = parts_of(map.columns, map.tile_columns);
    map.rms.resize(static_cast<std::size_t>(map.map_rows * map.map_columns));
    parallel_for(map.map_rows, map.tile_rows * map.columns, [&](std::int64_t row) {
        for (std::int64_t column = 0; column < map.map_columns; ++column) {
            ErrorSums sums;
            const std::int64_t first = column * map.tile_columns, count = std::min(map.tile_columns, map.columns - first);
            for (std::int64_t r = row * map.tile_rows; r < std::min((row + 1) * map.tile_rows, map.rows); ++r)
                sums.add(sums_of(rows_a, rows_b, r * map.columns + first, count));
            map.rms[static_cast<std::size_t>(row * map.map_columns + column)] = static_cast<float>(sums.rms());
        }
    });
    for (const float rms : map.rms)
        if (std::isfinite(rms)) map.largest = std::max(map.largest, rms);
    return map;
}

/// What both models' files have to be for a result to be worth anything.
struct BothFiles {
    const ModelFolder &a, &b;
    void require_intact() const {
        a.weights->require_intact();
        b.weights->require_intact();
    }
};

}  // namespace

WeightComparison compare_weights(const ModelFolder& a, const ModelFolder& b, const WeightProgress& each, const std::stop_token& stop) {
    return while_intact(BothFiles{a, b}, [&] { return compare_all(a, b, each, stop); });
}

WeightErrorMap weight_error_map(const ModelFolder& a, const ModelFolder& b, const std::string& parameter, std::int64_t most_rows,
                                std::int64_t most_columns, const std::stop_token& stop) {
    return while_intact(BothFiles{a, b}, [&] { return error_map_of(a, b, parameter, most_rows, most_columns, stop); });
}

ComparedParameter::ComparedParameter(const Parameters<float>& parameters, const std::string& name) {
    std::string own = name;
    ParameterPlace place = parameters.layout().place(own);
    // A tied head is compared by the table's rows, which are words.
    if (place.whole == nullptr && name == kHeadWeight && parameters.config().tied_lm_head)
        place = parameters.layout().place(own = kTableWeight);
    if (place.whole == nullptr) return;
    view_ = parameters.view(place);
    vector_ = place.whole->shape.rank() != 2;
    if (view_ && is_map_name(own, place)) view_ = view_.across();
    shift_ = holds_gains_less_one(parameters.config(), own) ? 1 : 0;
}

std::string ComparedParameter::packed(std::int64_t row, std::int64_t column) const {
    // Vectors are never block-quantized.
    return vector_ || !view_ ? "" : packed_words(view_, row, column);
}

}  // namespace attn
