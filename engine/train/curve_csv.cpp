#include "engine/train/curve_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>

#include "engine/io/file_error.hpp"

namespace attn {
namespace {

constexpr std::string_view kCurvesHeader = "step,loss,accuracy,gradient_norm,learning_rate,seconds,tokens,val_loss,val_accuracy";
constexpr std::string_view kHeadsHeader =
    "step,stage,head,previous_token,first_token,same_token,induction,entropy,distance,rows,induction_rows";
constexpr std::string_view kLengthColumn = "val_accuracy_";
constexpr std::size_t kCurveCells = 9, kHeadCells = 11;

/// Splits a table into rows of cells; keeps the line number for messages.
class CsvReader {
public:
    CsvReader(std::string_view text, std::string_view source, std::string_view header) : text_(text), source_(source) {
        if (!next_line()) fail(FileFault::Truncated, "the table is empty");
        if (!row_.starts_with(header)) fail(FileFault::Schema, fmt::format("expected the header {}, found {}", header, escaped(row_)));
        more_columns_ = row_.substr(header.size());
    }

    /// Reads the next row's cells, exactly cells.size() of them.
    bool next(std::span<std::string_view> cells) {
        if (!next_line()) return false;
        std::string_view rest = row_;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t comma = rest.find(',');
            if ((comma == std::string_view::npos) != (i + 1 == cells.size()))
                fail(FileFault::Format, fmt::format("expected {} cells", cells.size()));
            cells[i] = rest.substr(0, comma);
            rest.remove_prefix(std::min(rest.size(), cells[i].size() + 1));
        }
        return true;
    }

    /// The rest of the header, after the columns that are always present.
    std::string_view more_columns() const { return more_columns_; }

    template <class Number>
    Number number(std::string_view cell) const {
        Number value{};
        const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (error == std::errc::result_out_of_range) fail(FileFault::Range, fmt::format("\"{}\" is too large or too small", escaped(cell)));
        if (error != std::errc() || end != cell.data() + cell.size())
            fail(FileFault::Format, fmt::format("expected a number, found \"{}\"", escaped(cell)));
        return value;
    }
    std::int64_t count(std::string_view cell) const {
        const auto value = number<std::int64_t>(cell);
        if (value < 0) fail(FileFault::Range, fmt::format("{} is negative", value));
        return value;
    }

    [[noreturn]] void fail(FileFault fault, const std::string& problem) const {
        throw FileError(fault, source_, fmt::format("line {}", line_), problem);
    }

private:
    bool next_line() {
        ++line_;
        if (text_.empty()) return false;
        const std::size_t end = text_.find('\n');
        if (end == std::string_view::npos) fail(FileFault::Truncated, "the last line is incomplete");
        row_ = text_.substr(0, end);
        text_.remove_prefix(end + 1);
        return true;
    }

    std::string_view text_, source_, row_, more_columns_;
    std::int64_t line_ = 0;
};

/// All lengths for which any point has an accuracy, ascending.
std::vector<std::int64_t> lengths_of(std::span<const ValidationPoint> validations) {
    std::set<std::int64_t> lengths;
    for (const ValidationPoint& point : validations)
        for (const LengthAccuracy& at : point.by_length) lengths.insert(at.length);
    return {lengths.begin(), lengths.end()};
}

/// ",val_accuracy_1,val_accuracy_2" -> 1, 2
std::vector<std::int64_t> lengths_in_header(const CsvReader& reader) {
    std::vector<std::int64_t> lengths;
    for (std::string_view rest = reader.more_columns(); !rest.empty();) {
        rest.remove_prefix(1);
        const std::string_view name = rest.substr(0, rest.find(','));
        if (!name.starts_with(kLengthColumn)) reader.fail(FileFault::Schema, fmt::format("there is no column \"{}\"", escaped(name)));
        const std::int64_t length = reader.count(name.substr(kLengthColumn.size()));
        if (!lengths.empty() && length <= lengths.back())
            reader.fail(FileFault::Schema, fmt::format("the column of length {} comes after that of {}", length, lengths.back()));
        lengths.push_back(length);
        rest.remove_prefix(name.size());
    }
    return lengths;
}

/// One cell for each length.
void put_lengths(std::string& out, const std::vector<std::int64_t>& lengths, std::span<const LengthAccuracy> by_length) {
    auto at = by_length.begin();
    for (const std::int64_t length : lengths) {
        out += ',';
        if (at != by_length.end() && at->length == length) fmt::format_to(std::back_inserter(out), "{}", (at++)->accuracy);
    }
}

}  // namespace

std::string curves_csv(std::span<const LossPoint> losses, std::span<const ValidationPoint> validations) {
    std::string out(kCurvesHeader);
    const std::vector<std::int64_t> lengths = lengths_of(validations);
    for (const std::int64_t length : lengths) out += fmt::format(",{}{}", kLengthColumn, length);
    out += '\n';
    auto loss = losses.begin();
    auto validation = validations.begin();
    const auto put = std::back_inserter(out);
    while (loss != losses.end() || validation != validations.end()) {
        const bool trained = loss != losses.end() && (validation == validations.end() || loss->step <= validation->step);
        const std::int64_t step = trained ? loss->step : validation->step;
        fmt::format_to(put, "{}", step);
        if (trained) {
            fmt::format_to(put, ",{},{},{},{},{},{}", loss->loss, loss->accuracy, loss->gradient_norm, loss->learning_rate, loss->seconds,
                           loss->tokens);
            ++loss;
        } else {
            out += ",,,,,,";
        }
        if (validation != validations.end() && validation->step == step) {
            fmt::format_to(put, ",{},{}", validation->loss, validation->accuracy);
            put_lengths(out, lengths, validation->by_length);
            ++validation;
        } else {
            out.append(2 + lengths.size(), ',');
        }
        out += '\n';
    }
    return out;
}

Curves curves_from_csv(std::string_view text, std::string_view source) {
    CsvReader reader(text, source, kCurvesHeader);
    Curves curves;
    const std::vector<std::int64_t> lengths = lengths_in_header(reader);
    std::int64_t last = -1;
    for (std::vector<std::string_view> cells(kCurveCells + lengths.size()); reader.next(cells);) {
        const std::int64_t step = reader.count(cells[0]);
        if (step <= last) reader.fail(FileFault::Range, fmt::format("step {} comes after step {}", step, last));
        last = step;
        const auto empty = [&](std::size_t from, std::size_t to) {
            return std::all_of(cells.begin() + static_cast<std::ptrdiff_t>(from), cells.begin() + static_cast<std::ptrdiff_t>(to),
                               [](std::string_view cell) { return cell.empty(); });
        };
        constexpr std::size_t kTraining = 1, kValidation = 7;
        if (!empty(kTraining, kValidation))
            curves.losses.push_back({step, reader.number<double>(cells[1]), reader.number<double>(cells[2]),
                                     reader.number<double>(cells[3]), reader.number<double>(cells[4]), reader.number<double>(cells[5]),
                                     reader.count(cells[6])});
        if (!empty(kValidation, cells.size())) {
            ValidationPoint& point =
                curves.validations.emplace_back(ValidationPoint{step, reader.number<double>(cells[7]), reader.number<double>(cells[8])});
            for (std::size_t i = 0; i < lengths.size(); ++i)
                if (const std::string_view cell = cells[kCurveCells + i]; !cell.empty())
                    point.by_length.push_back({lengths[i], reader.number<double>(cell)});
        }
    }
    return curves;
}

std::string heads_csv(std::span<const HeadPoint> heads) {
    std::string out(kHeadsHeader);
    out += '\n';
    for (const HeadPoint& point : heads)
        for (const HeadScore& score : point.scores)
            fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{}\n", point.step, tensor_name(score.id), score.head,
                           score.previous_token, score.first_token, score.same_token, score.induction, score.entropy, score.distance,
                           score.rows, score.induction_rows);
    return out;
}

std::vector<HeadPoint> heads_from_csv(std::string_view text, std::string_view source) {
    CsvReader reader(text, source, kHeadsHeader);
    if (!reader.more_columns().empty()) reader.fail(FileFault::Schema, fmt::format("expected the header {}", kHeadsHeader));
    std::vector<HeadPoint> heads;
    for (std::array<std::string_view, kHeadCells> cells; reader.next(cells);) {
        const std::int64_t step = reader.count(cells[0]);
        if (!heads.empty() && step < heads.back().step)
            reader.fail(FileFault::Range, fmt::format("step {} comes after step {}", step, heads.back().step));
        const std::optional<StageId> stage = stage_from_tensor_name(cells[1]);
        if (!stage || stage->stage != Stage::Weights)
            reader.fail(FileFault::Format, fmt::format("\"{}\" is not a stage of attention weights", escaped(cells[1])));
        if (heads.empty() || heads.back().step != step) heads.push_back({step, {}});
        HeadScore score;
        score.id = *stage;
        score.head = reader.count(cells[2]);
        std::size_t cell = 3;
        for (double HeadScore::*field : {&HeadScore::previous_token, &HeadScore::first_token, &HeadScore::same_token, &HeadScore::induction,
                                         &HeadScore::entropy, &HeadScore::distance})
            score.*field = reader.number<double>(cells[cell++]);
        score.rows = reader.count(cells[9]);
        score.induction_rows = reader.count(cells[10]);
        heads.back().scores.push_back(score);
    }
    return heads;
}

}  // namespace attn
