/// However a file is constructed, the time to read or refuse it grows at most linearly with its length.

#include <gtest/gtest.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>

#include "engine/io/json.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "engine/train/curve_csv.hpp"
#include "engine/train/run_json.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

constexpr std::size_t kTimes = 16, kSmall = 62'500, kLarge = kTimes * kSmall;
constexpr double kEnoughSeconds = 1;  ///< a reading that takes this long is not timed again

using Read = std::function<void(const std::string&)>;
using Make = std::function<std::string(std::size_t)>;  ///< makes a file of about this many bytes

/// Memory that is given back after one attempt would be fetched anew, page by page, in the next.
bool keep_memory() {
#ifdef ATTN_SANITIZED
    return true;  // sanitizers have their own allocator, which keeps it and knows no such options
#else
    return mallopt(M_TRIM_THRESHOLD, 1 << 30) + mallopt(M_MMAP_THRESHOLD, 1 << 30) == 2;
#endif
}

/// The thread's CPU time, minimum of several attempts, to exclude other activity on the machine. No further attempts once one is `enough`.
double seconds_to_read(const std::string& bytes, const Read& read, const std::function<bool(double)>& enough) {
    const auto now = [] {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    static const bool keeps = keep_memory();
    EXPECT_TRUE(keeps);
    double least = 1e9;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const double begin = now();
        try {
            read(bytes);
        } catch (const FileError&) {  // refusing must be quick as well
        }
        least = std::min(least, now() - begin);
        if (least > kEnoughSeconds || enough(least)) break;
    }
    return least;
}

/// A quadratic reader takes kTimes² times as long for kTimes times the length. The bound lies in the middle, a factor of four from
/// both, because a busy neighbour on the same core slows either reading. Differences of a few milliseconds are ignored.
bool grows_with_length(double small, double large) { return large < 4 * kTimes * small + 0.02; }

struct Times {
    double small, large;
};

/// Reading the long file again could only shorten its time.
Times times_of(const Make& make, const Read& read) {
    const double small = seconds_to_read(make(kSmall), read, [](double) { return false; });
    return {small, seconds_to_read(make(kLarge), read, [small](double large) { return grows_with_length(small, large); })};
}

void expect_quick(const std::string& name, const Make& make, const Read& read) {
    const auto [small, large] = times_of(make, read);
    EXPECT_TRUE(grows_with_length(small, large))
        << name << ": " << small << " s for " << kSmall << " bytes, " << large << " s for " << kLarge;
}

/// `before`, then `item` repeatedly with commas between ("#" is replaced by an increasing number), then `after`.
Make repeated(const std::string& before, const std::string& item, const std::string& after) {
    return [=](std::size_t bytes) {
        std::string text = before;
        for (std::size_t i = 0; text.size() < bytes; ++i) {
            if (i != 0) text += ',';
            const std::size_t mark = item.find('#');
            text += mark == std::string::npos ? item : item.substr(0, mark) + std::to_string(i) + item.substr(mark + 1);
        }
        return text + after;
    };
}

/// `piece` repeatedly between `before` and `after`.
Make filled(const std::string& before, const std::string& piece, const std::string& after) {
    return [=](std::size_t bytes) {
        std::string text = before;
        while (text.size() < bytes) text += piece;
        return text + after;
    };
}

struct JsonShape {
    const char* name;
    Make make;
};

std::vector<JsonShape> json_shapes() {
    return {{"empty objects in a list", repeated(R"({"x":[)", "{}", "]}")},
            {"empty lists in a list", repeated(R"({"x":[)", "[]", "]}")},
            {"objects in a list", repeated(R"({"x":[)", R"({"a":1})", "]}")},
            {"numbers", repeated(R"({"x":[)", "1", "]}")},
            {"texts", repeated(R"({"x":[)", R"("")", "]}")},
            {"many fields", repeated("{", R"("k#":1)", "}")},
            {"fields that are objects", repeated("{", R"("k#":{})", "}")},
            {"one field many times", repeated("{", R"("k":1)", "}")},
            {"fields with one long beginning", repeated("{", '"' + std::string(200, 'k') + R"(#":1)", "}")},
            {"deep and wide", repeated(R"({"x":[[[[[[[[[[)", "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]", "]]]]]]]]]]}")},
            {"deeper than is read", filled("", "[", "")},
            {"a long number", filled(R"({"d_model":)", "1", "}")},
            {"a long fraction", filled(R"({"d_model":0.)", "1", "}")},
            {"a long exponent", filled(R"({"d_model":1e)", "1", "}")},
            {"a long text", filled(R"({"d_model":")", "a", "\"}")},
            {"a text of escapes", filled(R"({"d_model":")", "\\u00e9", "\"}")},
            {"a long name", filled("{\"", "k", "\":1}")},
            {"a text without an end", filled(R"({"a":")", "\\\"", "")},
            {"blanks", filled("{", " ", "}")},
            {"edits", repeated(R"({"train":{"forward":{"edits":[)", R"({"kind":"set","stage":"embedding","value":1})", "]}}}")},
            {"painted cells", repeated(R"({"train":{"forward":{"masks":{"painted":[)", "[1,2]", "]}}}}")}};
}

std::string safetensors(const std::string& header) { return test::le<std::uint64_t>(header.size()) + header; }

void read_safetensors_bytes(const std::string& bytes) {
    MemoryInput source(test::as_bytes(bytes), "x.safetensors");
    read_safetensors(source);
}

TEST(ReadingTime, ACheckThatSeesAQuadraticReader) {
    // Loops over a volatile, so that they are not optimised away.
    const auto quadratic = [](const std::string& bytes) {
        volatile std::size_t sum = 0;
        for (std::size_t i = 0; i < bytes.size() / 40; ++i)
            for (std::size_t j = 0; j < bytes.size() / 40; ++j) sum = sum + 1;
    };
    const auto [small, large] = times_of(filled("", " ", ""), quadratic);
    EXPECT_FALSE(grows_with_length(small, large));
}

TEST(ReadingTime, Json) {
    for (const JsonShape& shape : json_shapes()) {
        expect_quick(shape.name, shape.make, [](const std::string& text) { Json::parse(text, "x.json"); });
        expect_quick(std::string(shape.name) + ", as settings", shape.make,
                     [](const std::string& text) { run_settings_from_json(text, "x.json"); });
    }
}

TEST(ReadingTime, SafetensorsHeaders) {
    const auto wrapped = [](const Make& make) -> Make { return [=](std::size_t bytes) { return safetensors(make(bytes)); }; };
    for (const JsonShape& shape : json_shapes()) expect_quick(shape.name, wrapped(shape.make), read_safetensors_bytes);
    expect_quick("metadata", wrapped(repeated(R"({"__metadata__":{)", R"("k#":"v")", "}}")), read_safetensors_bytes);
    expect_quick("empty tensors", wrapped(repeated("{", R"("t#":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})", "}")),
                 read_safetensors_bytes);
    expect_quick("one tensor many times", wrapped(repeated("{", R"("t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})", "}")),
                 read_safetensors_bytes);
    expect_quick("a shape of many axes", wrapped(repeated(R"({"t":{"dtype":"F32","shape":[)", "1", R"(],"data_offsets":[0,4]}})")),
                 read_safetensors_bytes);
}

TEST(ReadingTime, Tables) {
    const std::string curves = curves_csv({}, {}), heads = heads_csv({});
    const auto read_curves = [](const std::string& text) { curves_from_csv(text, "curves.csv"); };
    const auto read_heads = [](const std::string& text) { heads_from_csv(text, "heads.csv"); };
    const auto rows = [](std::size_t bytes) {
        std::string text = curves_csv({}, {});
        for (std::size_t step = 1; text.size() < bytes; ++step) text += std::to_string(step) + ",1,1,1,1,1,1,,\n";
        return text;
    };
    EXPECT_GT(curves_from_csv(rows(1000), "curves.csv").losses.size(), 10U) << "rows that are read";
    expect_quick("rows", rows, read_curves);
    expect_quick("one long line", filled(curves, "1,", "\n"), read_curves);
    expect_quick("a long number", filled(curves, "1", "\n"), read_curves);
    expect_quick("empty lines", filled(curves, "\n", ""), read_curves);
    expect_quick("heads: one long line", filled(heads, "1,", "\n"), read_heads);
    expect_quick("heads: empty lines", filled(heads, "\n", ""), read_heads);
}

TEST(ReadingTime, NpzDirectories) {
    const test::TemporaryFolder folder;
    const auto archive = [&](std::size_t bytes) {
        std::vector<NamedArray> arrays;
        for (std::size_t i = 0; i < bytes / 250; ++i) arrays.push_back(make_array<float>("a" + std::to_string(i), {0}, {}));
        std::vector<ArrayView> views;
        for (const NamedArray& array : arrays) views.push_back(view_of(array));
        write_npz(folder / "many.npz", views);
        return (folder / "many.npz").string();
    };
    expect_quick("empty arrays", archive, [](const std::string& path) { read_npz(path); });
}

TEST(ReadingTime, Texts) {
    for (const char* piece : {"a", "a ", "\n", "\xFF", "é", " "})
        for (const TokenizerKind kind : {TokenizerKind::Character, TokenizerKind::Word, TokenizerKind::Byte})
            expect_quick(std::string("text of ") + piece, filled("x", piece, ""), [kind](const std::string& text) {
                const std::vector<std::string> texts{text};
                Tokenizer(kind, texts).encode(text);
            });
}

}  // namespace
}  // namespace attn
