/// Recordings in few digits or of few numbers: what the file states and the numbers allow is right, and what they cannot tell is not
/// judged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "engine/doctor/doctor.hpp"
#include "engine/io/file_error.hpp"
#include "tests/engine/doctor_example.hpp"

namespace attn::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

/// An attention to be recorded.
struct Recorded {
    Sizes n;
    unsigned seed = 1;
    double times = 1;              ///< makes q, and so the scores, larger
    double factor = 0;             ///< of the scores; 0: 1/√D
    std::optional<double> base{};  ///< of rotary positions over the first `width` dimensions, in halves
    std::int64_t width = 0;
    std::optional<double> cap{};
    std::int64_t sees = 0;  ///< how many later keys a causal query sees
};

/// The stages in plain loops, in double.
class Stages {
public:
    explicit Stages(const Recorded& what) : what_(what), example_(what.n, what.seed, 1, everywhere) {
        for (double& x : example_.q) x *= what.times;
        Example turned = example_;
        if (what.base) {
            turn(turned.q, what.n.t, what.n.s - what.n.t);
            turn(turned.k, what.n.s, 0);
        }
        const double factor = what.factor > 0 ? what.factor : 1 / std::sqrt(static_cast<double>(what.n.d));
        stages_ = Example(turned, factor, everywhere);
        capped_ = stages_.scaled;
        if (what.cap)
            for (double& x : capped_) x = *what.cap * std::tanh(x / *what.cap);
        attend();
    }

    /// `bits` 8: bfloat16; else the numbers are rounded to that many bits and stored as float.
    ArrayFile file(int bits, const std::vector<std::string>& names) const {
        const Sizes& n = what_.n;
        ArrayFile out;
        out.source = "dump.safetensors";
        const auto add = [&](const char* name, std::int64_t rows, std::int64_t columns, const Values& values) {
            if (std::find(names.begin(), names.end(), name) == names.end()) return;
            const std::vector<std::int64_t> shape{n.b, n.h, rows, columns};
            const Values numbers = rounded_to(bits, values);
            out.arrays.push_back(bits == 8 ? as_bfloat16(name, shape, values)
                                           : make_array<float>(name, shape, std::vector<float>(numbers.begin(), numbers.end())));
        };
        add("q", n.t, n.d, example_.q);
        add("k", n.s, n.d, example_.k);
        add("v", n.s, n.d, example_.v);
        add("scores", n.t, n.s, stages_.scores);
        add("scaled", n.t, n.s, stages_.scaled);
        add("capped", n.t, n.s, capped_);
        add("masked", n.t, n.s, stages_.masked);
        add("weights", n.t, n.s, stages_.weights);
        add("context", n.t, n.d, stages_.context);
        out.metadata["causal"] = "true";
        return out;
    }

private:
    void turn(Values& rows, std::int64_t positions, std::int64_t first) const {
        const std::int64_t width = what_.width > 0 ? what_.width : what_.n.d;
        for (std::size_t row = 0; row < rows.size() / Example::at(what_.n.d); ++row)
            for (std::int64_t i = 0; i < width / 2; ++i) {
                const double place = static_cast<double>(first + static_cast<std::int64_t>(row) % positions),
                             angle = place * std::pow(*what_.base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
                double &a = rows[row * Example::at(what_.n.d) + Example::at(i)], &b = (&a)[width / 2];
                const double x = a, y = b;
                a = x * std::cos(angle) - y * std::sin(angle);
                b = y * std::cos(angle) + x * std::sin(angle);
            }
    }

    void attend() {
        const Sizes& n = what_.n;
        const std::size_t keys = Example::at(n.s), size = Example::at(n.d);
        for (std::size_t row = 0; row < stages_.weights.size() / keys; ++row) {
            const std::size_t own = row % Example::at(n.t) + keys - Example::at(n.t);
            double sum = 0;
            for (std::size_t s = 0; s < keys; ++s) {
                const bool kept = s <= own + Example::at(what_.sees);
                stages_.masked[row * keys + s] = kept ? capped_[row * keys + s] : -std::numeric_limits<double>::infinity();
                sum += stages_.weights[row * keys + s] = std::exp(stages_.masked[row * keys + s]);
            }
            for (std::size_t s = 0; s < keys; ++s) stages_.weights[row * keys + s] /= sum;
            for (std::size_t d = 0; d < size; ++d) {
                double total = 0;
                for (std::size_t s = 0; s < keys; ++s)
                    total += stages_.weights[row * keys + s] * example_.v[(row / Example::at(n.t) * keys + s) * size + d];
                stages_.context[row * size + d] = total;
            }
        }
    }

    const Recorded what_;
    Example example_, stages_ = example_;
    Values capped_;
};

ArrayFile with_base(ArrayFile file, double base) {
    file.metadata["rope_theta"] = std::to_string(base);
    file.metadata["rotary_interleaved"] = "false";
    return file;
}

std::vector<std::string> sentences(const Diagnosis& diagnosis) {
    std::vector<std::string> out;
    for (const Finding& finding : diagnosis.findings) out.push_back(finding.sentence);
    return out;
}

const std::vector<std::string> kEnds{"q", "k", "v", "context"};

TEST(DoctorStated, ARotationThatTheRoundedNumbersAllowIsRight) {
    for (const Sizes& n : {Sizes{1, 1, 1, 1, 16}, Sizes{1, 2, 2, 2, 16}, Sizes{1, 1, 3, 3, 16}, Sizes{1, 2, 13, 21, 32}})
        for (unsigned seed = 1; seed <= 40; ++seed)
            for (const int bits : {8, 11, 24}) {
                const ArrayFile file = Stages({.n = n, .seed = seed, .base = 500000}).file(bits, kEnds);
                const Diagnosis diagnosis = examine(with_base(file, 500000));
                EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << n.t << ' ' << seed << ' ' << bits << diagnosis.explanation;
            }
}

TEST(DoctorStated, AMistakeCloserThanARotationThatIsOnlyStatedIsNotRuledOut) {
    int doubted = 0;
    for (unsigned seed = 1; seed <= 20; ++seed)
        for (const double factor : {0.0, 1.0}) {
            const Stages stages({.n = {1, 2, 33, 38, 8}, .seed = seed, .times = 3, .factor = factor, .base = 10000});
            const Diagnosis rounded = examine(with_base(stages.file(8, kEnds), 10000)),
                            whole = examine(with_base(stages.file(24, kEnds), 10000));
            if (factor == 0) {
                EXPECT_EQ(rounded.verdict, Verdict::Correct) << seed << rounded.explanation;
                EXPECT_EQ(whole.verdict, Verdict::Correct) << seed << whole.explanation;
                continue;
            }
            EXPECT_EQ(whole.bug, Bug::NoScale) << seed << whole.explanation;
            EXPECT_NE(rounded.verdict, Verdict::Correct) << seed << rounded.explanation;
            if (rounded.verdict != Verdict::Unknown) continue;
            EXPECT_THAT(rounded.explanation, AllOf(HasSubstr("half-split with base 10000"), HasSubstr("no_scale")));
            ++doubted;
        }
    EXPECT_GT(doubted, 0);
}

TEST(DoctorStated, FewNumbersShowNoOffsetOfPositions) {
    for (unsigned seed = 1; seed <= 150; ++seed) {
        ArrayFile file = Stages({.n = {1, 1, 1, 2, 8}, .seed = seed}).file(24, {"q", "k", "scores"});
        const Values scores = file.values<double>("scores"), noise = Example({}, seed, 1, everywhere).q;
        change(file, "scores", 0, scores[0] * (1 + 0.3 * noise[0]));
        change(file, "scores", 1, scores[1] * (1 + 0.3 * noise[1]));
        EXPECT_NE(examine(file).bug, Bug::PositionOffset) << seed << examine(file).explanation;
    }
}

TEST(DoctorStated, ARotationDoesNotExplainTheProductAtASinglePosition) {
    const Stages stages({.n = {1, 1, 1, 1, 24}, .times = 3, .base = 10000});
    const std::vector<std::string> names{"q", "k", "scores"};
    const ArrayFile right = with_base(stages.file(8, names), 10000);
    EXPECT_EQ(examine(right).verdict, Verdict::Correct);
    const double score = right.values<double>("scores")[0];
    const auto with_score = [&](double x) {
        ArrayFile out = right;
        out.arrays.back() = as_bfloat16("scores", {1, 1, 1, 1}, {x});
        return examine(out);
    };
    EXPECT_THAT(with_score(score + 1).explanation, HasSubstr("q_rotated and k_rotated are needed"));
    EXPECT_EQ(with_score(score + 1).verdict, Verdict::Unknown);
    EXPECT_EQ(with_score(score + 100).verdict, Verdict::Wrong);
}

TEST(DoctorStated, AnotherRotationThanTheNumbersAllowIsWrong) {
    const Stages stages({.n = {1, 2, 13, 21, 32}, .base = 10000});
    const Diagnosis diagnosis = examine(with_base(stages.file(24, {"q", "k", "weights"}), 500000));
    EXPECT_THAT(diagnosis.explanation, HasSubstr("but the file says rope_theta = 500000"));
    EXPECT_NE(examine(with_base(stages.file(24, kEnds), 500000)).verdict, Verdict::Correct);
}

TEST(DoctorStated, AMistakeBehindAStatedRotationIsNamed) {
    for (const Sizes& n : {Sizes{1, 1, 5, 5, 8}, Sizes{1, 2, 20, 24, 16}})
        for (const int bits : {11, 24}) {
            const ArrayFile file = Stages({.n = n, .base = 10000, .sees = 1}).file(bits, kEnds);
            const Diagnosis diagnosis = examine(with_base(file, 10000));
            EXPECT_EQ(diagnosis.bug, Bug::CausalLeaksOne) << bits << diagnosis.explanation;
        }
}

TEST(DoctorStated, ARotationBesideACapThatIsNotStatedIsRight) {
    for (const double times : {3.0, 10.0, 30.0})
        for (const bool stated : {true, false})
            for (const auto& names : std::vector<std::vector<std::string>>{{"q", "k", "weights"}, {"q", "k", "masked", "weights"}}) {
                ArrayFile file = Stages({.n = {1, 2, 16, 16, 16}, .times = times, .base = 10000, .cap = 20}).file(24, names);
                if (stated) file = with_base(file, 10000);
                const Diagnosis diagnosis = examine(file);
                EXPECT_EQ(diagnosis.verdict, Verdict::Correct) << times << stated << diagnosis.explanation;
                EXPECT_THAT(sentences(diagnosis), Contains(HasSubstr("softcap = 20 fits"))) << times << stated;
                Values weights = file.values<double>("weights");
                weights[100] += 0.1;
                replace(file, "weights", weights);
                EXPECT_EQ(examine(file).verdict, Verdict::Wrong) << times << stated;
            }
}

TEST(DoctorStated, CappedScoresNeedNoQueriesAndKeys) {
    for (const double times : {0.3, 1.0, 3.0, 10.0})
        for (const int bits : {8, 11, 24})
            for (const bool stated : {true, false})
                for (const char* next : {"masked", "weights"}) {
                    ArrayFile file = Stages({.n = {1, 2, 9, 12, 16}, .times = times, .cap = 20}).file(bits, {"scaled", "capped", next});
                    if (stated) file.metadata["softcap"] = "20";
                    EXPECT_EQ(examine(file).verdict, Verdict::Correct) << times << ' ' << bits << next << examine(file).explanation;
                }
    ArrayFile file = Stages({.n = {1, 2, 9, 12, 16}, .times = 10, .cap = 20}).file(8, {"scaled", "capped", "weights"});
    file.metadata["softcap"] = "50";
    EXPECT_EQ(examine(file).verdict, Verdict::Wrong);
}

TEST(DoctorStated, ARotationOverAnUnusualWidthIsFound) {
    for (const std::int64_t width : {6, 10, 22})
        for (const auto& names : std::vector<std::vector<std::string>>{{"q", "k", "scores"}, {"q", "k", "v", "weights", "context"}}) {
            ArrayFile file = Stages({.n = {1, 2, 12, 12, 24}, .base = 10000, .width = width}).file(24, names);
            EXPECT_EQ(examine(file).verdict, Verdict::Correct) << width << examine(file).explanation;
            file.metadata["rotary_dim"] = "12";
            EXPECT_EQ(examine(file).verdict, Verdict::Wrong) << width;
        }
}

TEST(DoctorStated, ACapInFewDigitsIsNoWrongScale) {
    const std::vector<std::string> names{"q", "k", "v", "scores", "weights"};
    for (const int bits : {8, 11})
        for (unsigned seed = 1; seed <= 20; ++seed) {
            const Sizes n{1, 3, 20, 20, 24};
            const Diagnosis capped = examine(Stages({.n = n, .seed = seed, .times = 1.5, .cap = 5}).file(bits, names));
            EXPECT_EQ(capped.verdict, Verdict::Correct) << bits << ' ' << seed << capped.explanation;
            const Diagnosis scaled = examine(Stages({.n = n, .seed = seed, .times = 1.5, .factor = 0.17}).file(bits, names));
            EXPECT_THAT(scaled.explanation, HasSubstr("which is neither 0.204124 nor a known mistake")) << bits << ' ' << seed;
        }
}

TEST(DoctorStated, AFewNumbersDoNotTellACapFromAScale) {
    const std::vector<std::string> names{"q", "k", "masked"};
    for (const Sizes& n : {Sizes{1, 1, 1, 1, 16}, Sizes{1, 3, 1, 1, 16}}) {
        ArrayFile file = Stages({.n = n, .times = 10, .cap = 5}).file(24, names);
        const Diagnosis doubted = examine(file);
        EXPECT_EQ(doubted.verdict, Verdict::Unknown) << doubted.explanation;
        EXPECT_THAT(doubted.explanation, HasSubstr("a soft cap and another scale explain it equally well"));
        file.metadata["softcap"] = "5";
        EXPECT_EQ(examine(file).verdict, Verdict::Correct) << examine(file).explanation;
        EXPECT_EQ(examine(Stages({.n = n, .factor = 1}).file(24, names)).bug, Bug::NoScale);
    }
}

TEST(DoctorStated, ACapThatIsNoneIsNone) {
    const std::vector<std::string> names{"q", "k", "v", "weights"};
    for (const char* none : {"None", "null", "0"}) {
        ArrayFile file = Stages({.n = {}, .times = 3}).file(24, names);
        file.metadata["softcap"] = none;
        EXPECT_EQ(examine(file).verdict, Verdict::Correct) << none;
    }
    ArrayFile file = Stages({.n = {}, .times = 3}).file(24, names);
    file.metadata["softcap"] = "some";
    EXPECT_THROW(examine(file), std::exception);
}

/// The file is sparse, so that it takes no space.
TEST(DoctorStated, AFileThatIsTooLargeIsRefusedWithTheReason) {
    const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "large-dump.safetensors";
    std::ofstream(path) << "a";
    std::filesystem::resize_file(path, (std::uint64_t{4} << 30) + 1);
    std::string problem;
    try {
        examine_file(path);
    } catch (const FileError& error) {
        problem = error.what();
    }
    std::filesystem::remove(path);
    EXPECT_THAT(problem, HasSubstr("is larger than 4 GiB: a dump is read into memory as a whole"));
}

}  // namespace
}  // namespace attn::doctor
