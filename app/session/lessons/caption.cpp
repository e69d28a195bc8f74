#include "app/session/lessons/caption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "engine/plan/stage_list.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kUnknown = "…";

/// In the order of QuoteKind; "" stands for a quotation without a keyword.
constexpr std::array<std::string_view, 15> kWords = {"",       "sum",  "min",   "max",   "mean", "std",  "zeros",   "exp",
                                                     "sumexp", "most", "token", "shape", "step", "loss", "accuracy"};

[[noreturn]] void refuse(std::string_view quote, std::string_view problem) { throw Error(fmt::format("{{{}}}: {}", quote, problem)); }

bool takes_nothing(QuoteKind kind) { return kind == QuoteKind::Step || kind == QuoteKind::Loss || kind == QuoteKind::Accuracy; }

std::int64_t read_index(std::string_view text, std::string_view quote) {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (error != std::errc() || end != text.data() + text.size() || index < 0 || index > (std::int64_t{1} << 31))
        refuse(quote, fmt::format("\"{}\" is not an index; write a number from 0, or * for a whole axis", text));
    return index;
}

/// Strips an index such as "[0,*,2]" from the end of `text` and parses it.
std::vector<std::optional<std::int64_t>> take_index(std::string_view& text, std::string_view quote) {
    std::vector<std::optional<std::int64_t>> index;
    const std::size_t open = text.find('[');
    if (open == std::string_view::npos) return index;
    if (text.back() != ']') refuse(quote, "expected ] after the indices");
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    text = text.substr(0, open);
    while (true) {
        const std::size_t comma = inside.find(',');
        const std::string_view one = inside.substr(0, comma);
        if (one == "*") index.emplace_back();
        else index.emplace_back(read_index(one, quote));
        if (comma == std::string_view::npos) break;
        inside.remove_prefix(comma + 1);
    }
    if (index.size() > Shape::kMaxRank) refuse(quote, fmt::format("at most {} indices are allowed", Shape::kMaxRank));
    return index;
}

/// Strips the leading keyword, or a keyword that stands alone.
QuoteKind take_kind(std::string_view& text, std::string_view quote) {
    const std::size_t end = std::min(text.find_first_of(" ["), text.size());
    const std::string_view word = text.substr(0, end);
    for (std::size_t i = 1; i < kWords.size(); ++i) {
        if (kWords[i] != word) continue;
        text.remove_prefix(end);
        if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
        return static_cast<QuoteKind>(i);
    }
    if (end < text.size() && text[end] == ' ') refuse(quote, fmt::format("\"{}\" is not an operation on numbers", word));
    return QuoteKind::Value;
}

void name_tensor(Quote& quote, std::string_view name, int layer) {
    if (const std::optional<StageId> stage = stage_from_name(name, layer)) {
        quote.stage = *stage;
    } else if (const std::optional<StageId> id = stage_from_tensor_name(name)) {
        quote.stage = *id;
    } else if (name.find('.') != std::string_view::npos) {
        quote.parameter = name;
    } else {
        refuse(quote.source, fmt::format("there is no stage \"{}\"; the stages are {}", name, all_stages()));
    }
}

bool names_whole_axis(const Quote& quote) { return std::count(quote.index.begin(), quote.index.end(), std::nullopt) > 0; }

Quote parse_quote(std::string_view source, int layer) {
    Quote quote;
    quote.source = source;
    std::string_view text = source;
    if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
        quote.decimals = static_cast<int>(std::min<std::int64_t>(read_index(text.substr(colon + 1), source), 1000));
        if (quote.decimals > 12) refuse(source, "at most 12 decimals can be written");
        text = text.substr(0, colon);
    }
    quote.kind = take_kind(text, source);
    if (takes_nothing(quote.kind)) {
        if (!text.empty()) refuse(source, "unexpected text at the end");
        return quote;
    }
    quote.index = take_index(text, source);
    if (quote.kind == QuoteKind::Token) {
        if (!text.empty() || quote.index.empty() || quote.index.size() > 2) refuse(source, "write a token as {token[position]}");
        if (names_whole_axis(quote)) refuse(source, "expected one token: * is not a position");
        return quote;
    }
    name_tensor(quote, text, layer);
    if (quote.kind == QuoteKind::Shape && !quote.index.empty()) refuse(source, "a shape belongs to the whole tensor: leave the index out");
    if (quote.kind == QuoteKind::Most && std::count(quote.index.begin(), quote.index.end(), std::nullopt) != 1)
        refuse(source, "expected one row: give an index on every axis but one, and * there");
    const bool whole = names_whole_axis(quote);
    const bool single = quote.kind == QuoteKind::Value || quote.kind == QuoteKind::Exp;
    if (single && (whole || quote.index.empty())) refuse(source, "expected one number: give an index on every axis");
    return quote;
}

/// The numbers and shape of a recorded tensor or a parameter.
struct Numbers {
    std::span<const float> values;
    Shape shape;
    std::vector<float> copied{};  ///< used if the values are not stored contiguously
};

std::optional<Numbers> numbers_of(const Quote& quote, const Trace<float>& trace) {
    if (quote.parameter.empty()) {
        const RecordedStage<float>* stage = trace.find(quote.stage);
        if (stage == nullptr) return std::nullopt;
        return Numbers{stage->value.values(), stage->value.shape()};
    }
    if (trace.parameters == nullptr) return std::nullopt;
    const ParameterInfo* info = trace.parameters->layout().find(quote.parameter);
    if (info == nullptr) return std::nullopt;
    Numbers out{{}, info->shape, trace.parameters->copy(*info)};
    out.values = out.copied;
    return out;
}

/// The offsets of the indexed numbers in memory, in order; none if the index is out of range.
std::optional<std::vector<std::size_t>> places_of(const Quote& quote, const Numbers& all) {
    const int rank = all.shape.rank();
    if (!quote.index.empty() && static_cast<int>(quote.index.size()) != rank) return std::nullopt;
    std::vector<std::size_t> places{0};
    for (int a = 0; a < rank; ++a) {
        const auto size = static_cast<std::size_t>(all.shape[a].size);
        const std::optional<std::int64_t> index = quote.index.empty() ? std::nullopt : quote.index[static_cast<std::size_t>(a)];
        if (index && *index >= all.shape[a].size) return std::nullopt;
        std::vector<std::size_t> finer;
        finer.reserve(places.size() * (index ? 1 : size));
        for (const std::size_t place : places)
            if (index) finer.push_back(place * size + static_cast<std::size_t>(*index));
            else
                for (std::size_t i = 0; i < size; ++i) finer.push_back(place * size + i);
        places = std::move(finer);
    }
    if (places.empty()) return std::nullopt;
    return places;
}

/// The indexed numbers in order; none if the index is out of range.
std::optional<std::vector<double>> chosen(const Quote& quote, const Numbers& all) {
    const auto places = places_of(quote, all);
    if (!places) return std::nullopt;
    std::vector<double> numbers;
    numbers.reserve(places->size());
    for (const std::size_t place : *places) numbers.push_back(static_cast<double>(all.values[place]));
    return numbers;
}

/// The cell of the number at an offset in memory.
QuotedPlace cell_at(const Quote& quote, const Shape& shape, std::size_t place) {
    QuotedPlace found{{quote.stage, quote.parameter, {}}, shape.rank(), {}};
    for (int a = shape.rank() - 1; a >= 0; --a) {
        const auto size = static_cast<std::size_t>(shape[a].size);
        found.cell.index[static_cast<std::size_t>(a)] = static_cast<std::int64_t>(place % size);
        place /= size;
    }
    return found;
}

double reduced(QuoteKind kind, const std::vector<double>& numbers) {
    const auto count = static_cast<double>(numbers.size());
    double sum = 0, squares = 0, exponentials = 0, zeros = 0;
    for (const double x : numbers) {
        sum += x;
        exponentials += std::exp(x);
        if (x == 0) ++zeros;
    }
    switch (kind) {
    case QuoteKind::Sum:
        return sum;
    case QuoteKind::Min:
        return *std::min_element(numbers.begin(), numbers.end());
    case QuoteKind::Max:
        return *std::max_element(numbers.begin(), numbers.end());
    case QuoteKind::Mean:
        return sum / count;
    case QuoteKind::Std:
        for (const double x : numbers) squares += (x - sum / count) * (x - sum / count);
        return std::sqrt(squares / count);
    case QuoteKind::Zeros:
        return zeros;
    case QuoteKind::Exp:
    case QuoteKind::SumExp:
        return exponentials;
    default:
        return numbers.front();
    }
}

std::string number_text(double value, int decimals) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
    const bool zero = text.find_first_not_of("0.") == std::string::npos;
    return value < 0 && !zero ? "−" + text : text;
}

std::optional<std::string> token_at(const std::vector<std::vector<Token>>& tokens, std::int64_t sequence, std::int64_t position) {
    if (sequence >= static_cast<std::int64_t>(tokens.size())) return std::nullopt;
    const std::vector<Token>& row = tokens[static_cast<std::size_t>(sequence)];
    if (position >= static_cast<std::int64_t>(row.size())) return std::nullopt;
    const Token& token = row[static_cast<std::size_t>(position)];
    return token.padding ? "<pad>" : token.text;
}

/// The axis whose index is *; none if there is no *.
std::optional<Axis> whole_axis(const Quote& quote, const Shape& shape) {
    const auto star = std::find(quote.index.begin(), quote.index.end(), std::nullopt);
    if (star == quote.index.end()) return std::nullopt;
    return shape[static_cast<int>(star - quote.index.begin())].axis;
}

/// The token at a position of a row along T, S or V.
std::optional<std::string> most_at(const Quote& quote, const Shape& shape, const Snapshot& snapshot, std::int64_t at) {
    const std::optional<Axis> axis = whole_axis(quote, shape);
    if (axis == Axis::V) {
        if (at >= static_cast<std::int64_t>(snapshot.vocabulary.size())) return std::nullopt;
        return snapshot.vocabulary[static_cast<std::size_t>(at)];
    }
    if (axis != Axis::T && axis != Axis::S) return std::nullopt;
    const bool source = quote.stage.stack == Stack::Encoder || (quote.stage.attention == kCrossAttention && axis == Axis::S);
    return token_at(source ? snapshot.source_tokens : snapshot.tokens, quote.index[0].value_or(0), at);
}

/// What is wrong with the indices for a tensor of this shape; "" if nothing is.
std::string fault_of_index(const Quote& quote, const Shape& shape) {
    if (quote.index.empty()) return "";
    if (static_cast<int>(quote.index.size()) != shape.rank())
        return fmt::format("there are {} indices, and the tensor is {}", quote.index.size(), shape.text());
    for (int a = 0; a < shape.rank(); ++a)
        if (const auto& index = quote.index[static_cast<std::size_t>(a)]; index && *index >= shape[a].size)
            return fmt::format("there is no {} {}: the tensor is {}", axis_letter(shape[a].axis), *index, shape.text());
    const std::optional<Axis> row = quote.kind == QuoteKind::Most ? whole_axis(quote, shape) : Axis::T;
    if (row != Axis::T && row != Axis::S && row != Axis::V) return "* must be on an axis of tokens: T, S or V";
    return "";
}

std::string fault_of_token(const Quote& quote, const Snapshot& snapshot) {
    const std::int64_t sequence = quote.index.size() == 1 ? 0 : quote.index[0].value_or(0), position = quote.index.back().value_or(0);
    if (token_at(snapshot.tokens, sequence, position)) return "";
    if (sequence >= static_cast<std::int64_t>(snapshot.tokens.size()))
        return fmt::format("there is no text {}: there are {}", sequence, snapshot.tokens.size());
    return fmt::format("there is no token {}: the text has {}", position, snapshot.tokens[static_cast<std::size_t>(sequence)].size());
}

/// The last validation of the shown run up to the shown step.
const ValidationPoint* held_out(const Snapshot& snapshot, const TrainingReport& training) {
    const ValidationPoint* found = nullptr;
    for (const RunCurves& run : training.runs) {
        if (run.run != snapshot.run || snapshot.run == 0) continue;
        for (const ValidationPoint& point : run.validations)
            if (point.step <= snapshot.trained_step.value_or(0)) found = &point;
    }
    return found;
}

std::optional<std::string> quoted_training(const Quote& quote, const Snapshot& snapshot, const TrainingReport& training) {
    if (quote.kind == QuoteKind::Step) {
        if (!snapshot.trained_step) return std::nullopt;
        return std::to_string(*snapshot.trained_step);
    }
    const ValidationPoint* point = held_out(snapshot, training);
    if (point == nullptr) return std::nullopt;
    if (quote.kind == QuoteKind::Loss) return number_text(point->loss, quote.decimals);
    return number_text(100 * point->accuracy, 0) + " %";
}

}  // namespace

Caption parse_caption(std::string_view text, int layer) {
    Caption caption;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        if (text.substr(0, open).find('}') != std::string_view::npos) throw Error("a } without a { before it");
        if (open > 0) caption.push_back({std::string(text.substr(0, open)), {}});
        if (open == std::string_view::npos) break;
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) throw Error("a { without a } after it");
        caption.push_back({"", parse_quote(text.substr(open + 1, close - open - 1), layer)});
        text.remove_prefix(close + 1);
    }
    return caption;
}

std::string fault_of_caption(std::string_view text) {
    try {
        parse_caption(text, 0);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::optional<std::string> quoted(const Quote& quote, const Snapshot& snapshot, const TrainingReport& training) {
    if (snapshot.trace == nullptr) return std::nullopt;
    if (takes_nothing(quote.kind)) return quoted_training(quote, snapshot, training);
    if (quote.kind == QuoteKind::Token) {
        const bool first = quote.index.size() == 1;
        return token_at(snapshot.tokens, first ? 0 : quote.index[0].value_or(0), quote.index.back().value_or(0));
    }
    const std::optional<Numbers> all = numbers_of(quote, *snapshot.trace);
    if (!all) return std::nullopt;
    if (quote.kind == QuoteKind::Shape) return all->shape.text();
    const std::optional<std::vector<double>> numbers = chosen(quote, *all);
    if (!numbers) return std::nullopt;
    if (quote.kind == QuoteKind::Most) {
        const std::int64_t at = std::max_element(numbers->begin(), numbers->end()) - numbers->begin();
        return most_at(quote, all->shape, snapshot, at);
    }
    if (quote.kind == QuoteKind::Zeros) return number_text(reduced(quote.kind, *numbers), 0);
    const bool id = quote.parameter.empty() && quote.stage.stage == Stage::Tokens;
    return number_text(reduced(quote.kind, *numbers), id ? 0 : quote.decimals);
}

std::optional<QuotedPlace> quoted_place(const Quote& quote, const Snapshot& snapshot) {
    if (snapshot.trace == nullptr || takes_nothing(quote.kind) || quote.kind == QuoteKind::Token || quote.kind == QuoteKind::Shape)
        return std::nullopt;
    const std::optional<Numbers> all = numbers_of(quote, *snapshot.trace);
    if (!all) return std::nullopt;
    const auto places = places_of(quote, *all);
    if (!places) return std::nullopt;
    const auto less = [&](std::size_t a, std::size_t b) { return all->values[a] < all->values[b]; };
    switch (quote.kind) {
    case QuoteKind::Most:
    case QuoteKind::Max:
        return cell_at(quote, all->shape, *std::max_element(places->begin(), places->end(), less));
    case QuoteKind::Min:
        return cell_at(quote, all->shape, *std::min_element(places->begin(), places->end(), less));
    default:
        break;
    }
    if (quote.index.empty()) return std::nullopt;
    QuotedPlace found = cell_at(quote, all->shape, places->front());
    for (std::size_t a = 0; a < quote.index.size(); ++a) found.whole[a] = !quote.index[a];
    return found;
}

std::string why_unquotable(const Quote& quote, const Snapshot& snapshot) {
    if (takes_nothing(quote.kind)) return snapshot.trained_step ? "" : "there is no training run";
    if (quote.kind == QuoteKind::Token) return fault_of_token(quote, snapshot);
    const std::optional<Numbers> all = numbers_of(quote, *snapshot.trace);
    if (all) return fault_of_index(quote, all->shape);
    if (!quote.parameter.empty()) return "this model has no parameter " + quote.parameter;
    return "this model has no stage " + tensor_name(quote.stage);
}

std::string caption_text(const Caption& caption, const Snapshot& snapshot, const TrainingReport& training) {
    std::string text;
    for (const CaptionPart& part : caption)
        text += part.quote ? quoted(*part.quote, snapshot, training).value_or(std::string(kUnknown)) : part.text;
    return text;
}

std::string caption_text(const Caption& caption) {
    std::string text;
    for (const CaptionPart& part : caption) text += part.quote ? std::string(kUnknown) : part.text;
    return text;
}

}  // namespace attn::app
