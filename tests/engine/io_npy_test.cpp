#include "engine/io/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/engine/io_support.hpp"
#include "tests/engine/numpy_process.hpp"

namespace attn {
namespace {

using test::as_bytes;
using test::expect_refused;
using test::le;

constexpr std::size_t kNpyMemory = std::size_t{1} << 16;

std::string npy1(const std::string& header, const std::string& data) {
    return std::string("\x93NUMPY\1\0", 8) + le(static_cast<std::uint16_t>(header.size())) + header + data;
}
std::string npy(int version, const std::string& header, const std::string& data) {
    return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + le(static_cast<std::uint32_t>(header.size())) + header + data;
}
std::string header_of(const std::string& shape, const std::string& descr = "'<f4'", const std::string& order = "False") {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
const std::string kFour(16, '\0');

NamedArray parse_npy(const std::string& bytes) {
    MemoryInput source(as_bytes(bytes), "bad.npy");
    return read_npy(source);
}
void npy_refused(const std::string& label, FileFault fault, const std::string& bytes) {
    expect_refused(label, fault, "bad.npy", kNpyMemory, [&] { parse_npy(bytes); });
}
void npy_header_refused(const std::string& label, FileFault fault, const std::string& header) {
    npy_refused(label + " " + header.substr(0, 90), fault, npy1(header, kFour));
}
std::vector<double> numbers(const std::string& bytes) { return values_as<double>(parse_npy(bytes), "bad.npy"); }

TEST(NpyBad, FirstBytes) {
    const std::string good = npy1(header_of("(2, 2)"), kFour);
    for (const std::size_t size : {0, 5, 9, 11}) npy_refused("N01", FileFault::Truncated, good.substr(0, size));
    npy_refused("N02", FileFault::Format, "\x93NUMPX" + good.substr(6));
    npy_refused("N02", FileFault::Format, "\x92" + good.substr(1));
    for (const auto& [major, minor] : {std::pair(0, 0), std::pair(1, 1), std::pair(4, 0), std::pair(255, 255)}) {
        std::string other = good;
        other[6] = static_cast<char>(major);
        other[7] = static_cast<char>(minor);
        npy_refused("N03", FileFault::Format, other);
    }
    npy_refused("N04", FileFault::Limit, std::string("\x93NUMPY\2\0", 8) + le(0xFFFFFFF0U));
    npy_refused("N05", FileFault::Limit, npy1(header_of("(2, 2)") + std::string(10'001 - header_of("(2, 2)").size(), ' '), kFour));
    npy_refused("N06", FileFault::Truncated, std::string("\x93NUMPY\1\0", 8) + le(std::uint16_t{500}) + header_of("(2, 2)"));
    npy_refused("empty header", FileFault::Format, npy1("", kFour));
}

TEST(NpyBad, Dictionary) {
    npy_header_refused("N07", FileFault::Format, "{'descr': '<f4', 'fortran_order': False}");
    npy_header_refused("N07", FileFault::Format, "{}");
    npy_header_refused("N07", FileFault::Format, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}");
    npy_header_refused("N07", FileFault::Duplicate, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'shape': (4,)}");
    npy_header_refused("N08", FileFault::Format, "[1]");
    npy_header_refused("N08", FileFault::Format, "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)");
    npy_header_refused("N08", FileFault::Format, header_of("(4,)") + "x");
    npy_header_refused("N08", FileFault::Format, "{'descr': '<f4', 'fortran_order': False, 'shape': (4");
    npy_header_refused("N08", FileFault::Format, "{'descr': '<f4");
    npy_header_refused("N08", FileFault::Format, header_of("(4,)") + std::string(1, '\0'));
    npy_header_refused("N08", FileFault::Format, header_of("(4,)", "'<f4\xE9'"));
    npy_refused("N08 v3", FileFault::Format, npy(3, header_of("(4,)", "'\xFF'"), kFour));
    for (const char* value : {"__import__('os')", "2**40", "1_000", "0x10", "np.int64(3)"}) {
        npy_header_refused("N09, N11", FileFault::Format, header_of(std::string("(") + value + ",)"));
        npy_header_refused("N09 order", FileFault::Format, header_of("(4,)", "'<f4'", value));
    }
    npy_header_refused("N09 descr", FileFault::Format, header_of("(4,)", "__import__('os')"));
    npy_header_refused("N10", FileFault::Format, header_of(std::string(5000, '(')));
    npy_header_refused("N25", FileFault::Format, header_of("(4,)", "'<f4'", "1"));
    npy_header_refused("N25", FileFault::Format, header_of("(4,)", "'<f4'", "'False'"));
}

TEST(NpyBad, ElementTypes) {
    for (const char* descr : {"'|O'", "[('a','<f4')]", "'<U8'", "'|V16'", "'<c8'", "'<f16'", "'<M8[s]'", "'<f'", "'<ixy'", "''",
                              "'<f99999999999'", "'|f4'", "'<<f4'"})
        npy_header_refused("N12-N15", FileFault::Unsupported, header_of("(4,)", descr));
}

TEST(NpyBad, Shapes) {
    for (const char* shape : {"(-1,)", "(True,)", "(2.0,)", "[2,2]", "2", "(4)", "(9223372036854775808,)", "(2., 2)"})
        npy_header_refused("N16-N19", FileFault::Range, header_of(shape));
    npy_header_refused("N20", FileFault::Overflow, header_of("(4294967296,4294967296)"));
    npy_header_refused("N21", FileFault::Overflow, header_of("(9223372036854775807,)", "'<f8'"));
    std::string many = "(";
    for (int i = 0; i < 65; ++i) many += "1,";
    npy_header_refused("N22", FileFault::Limit, header_of(many + ")"));
    npy_header_refused("one axis too long", FileFault::Limit, header_of("(0, 2147483648)"));
    for (const char* shape : {"(2 2)", "(,)", "(2,,2)", "(2, 2", "None"}) npy_header_refused("shape", FileFault::Format, header_of(shape));
    npy_header_refused("huge and absent", FileFault::Truncated, header_of("(2147483647,)"));
}

TEST(NpyBad, DataLength) {
    npy_refused("N24", FileFault::Truncated, npy1(header_of("(2, 2)"), kFour.substr(1)));
    npy_refused("N24", FileFault::Format, npy1(header_of("(2, 2)"), kFour + "x"));
    const std::string whole = npy1(header_of("(2, 2)"), kFour);
    npy_refused("N24 second array", FileFault::Format, whole + whole);
    for (std::size_t keep = 0; keep < whole.size(); ++keep) EXPECT_THROW(parse_npy(whole.substr(0, keep)), FileError) << keep;
}

TEST(Npy, AcceptsWhatNumpyWrites) {
    const std::string two = le(1.5F) + le(-2.0F);
    EXPECT_EQ(numbers(npy1(header_of("(2L,)"), two)), (std::vector<double>{1.5, -2})) << "N23";
    for (const int version : {2, 3}) EXPECT_EQ(numbers(npy(version, header_of("(2,)"), two)), (std::vector<double>{1.5, -2})) << "V7";
    EXPECT_EQ(numbers(npy1(header_of("()"), le(7.0F))), std::vector<double>{7}) << "V7";
    EXPECT_EQ(parse_npy(npy1(header_of("(2, 0)"), "")).shape, (std::vector<std::int64_t>{2, 0}));
    EXPECT_EQ(numbers(npy1("{\"shape\": (2,), \"descr\": \"<f4\",\t\"fortran_order\": False}", two)), (std::vector<double>{1.5, -2}));
    EXPECT_EQ(numbers(npy1(header_of("(2,)") + std::string(7, ' ') + "\n", two)), (std::vector<double>{1.5, -2}));
    EXPECT_EQ(numbers(npy1(header_of("(1,)", "'|b1'"), "\1")), std::vector<double>{1});
}

TEST(Npy, ForeignByteOrderAndColumnMajor) {
    std::string big;
    for (const float value : {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}) {
        std::string bytes = le(value);
        big.append(bytes.rbegin(), bytes.rend());
    }
    EXPECT_EQ(numbers(npy1(header_of("(6,)", "'>f4'"), big)), (std::vector<double>{1, 2, 3, 4, 5, 6})) << "N26";
    // Column-major: element (i, j) of a 2 x 3 matrix is at i + 2 j.
    EXPECT_EQ(numbers(npy1(header_of("(2, 3)", "'>f4'", "True"), big)), (std::vector<double>{1, 3, 5, 2, 4, 6})) << "N26";
    std::string cube;
    for (int i = 0; i < 24; ++i) cube += le(static_cast<std::int32_t>(i));
    const auto values = numbers(npy1(header_of("(2, 3, 4)", "'<i4'", "True"), cube));
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) EXPECT_EQ(values[static_cast<std::size_t>((i * 3 + j) * 4 + k)], i + 2 * (j + 3 * k));
}

TEST(Npy, HalfPrecisionIsWidenedExactly) {
    // Every half-precision number against its definition.
    std::string all;
    for (unsigned bits = 0; bits < 0x10000; ++bits) all += le(static_cast<std::uint16_t>(bits));
    const auto values = numbers(npy1(header_of("(65536,)", "'<f2'"), all));
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const int exponent = static_cast<int>((bits >> 10U) & 31U);
        const double fraction = bits & 1023U;
        double expected = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31) expected = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
        if (bits >= 0x8000) expected = -expected;
        if (std::isnan(expected)) ASSERT_TRUE(std::isnan(values[bits])) << bits;
        else ASSERT_EQ(std::memcmp(&values[bits], &expected, sizeof expected), 0) << bits;
    }
}

TEST(ArrayValues, ConversionsAreChecked) {
    const auto array = [](DType dtype, const std::string& bytes) {
        NamedArray out{"a", dtype, {static_cast<std::int64_t>(bytes.size() / dtype_size(dtype))}, {}};
        out.bytes.assign(as_bytes(bytes).begin(), as_bytes(bytes).end());
        return out;
    };
    const auto range = [](const char* label, const std::function<void()>& read) {
        expect_refused(label, FileFault::Range, "f.npy", kNpyMemory, read);
    };
    range("fraction", [&] { values_as<std::int64_t>(array(DType::F64, le(1.5)), "f.npy"); });
    range("NaN", [&] { values_as<std::int64_t>(array(DType::F64, le(std::nan(""))), "f.npy"); });
    range("2^63", [&] { values_as<std::int64_t>(array(DType::F64, le(0x1p63)), "f.npy"); });
    range("becomes infinite", [&] { values_as<float>(array(DType::F64, le(1e300)), "f.npy"); });
    range("not exact", [&] { values_as<double>(array(DType::I64, le((std::int64_t{1} << 53) + 1)), "f.npy"); });
    range("not exact at the end", [&] { values_as<double>(array(DType::U64, le(~std::uint64_t{0})), "f.npy"); });
    range("not exact in float", [&] { values_as<float>(array(DType::I32, le((std::int32_t{1} << 24) + 1)), "f.npy"); });
    range("negative", [&] { values_as<std::uint8_t>(array(DType::I8, "\xFF"), "f.npy"); });
    range("bool", [&] { values_as<float>(array(DType::Bool, "\2"), "f.npy"); });
    EXPECT_EQ(values_as<std::int64_t>(array(DType::F64, le(-0x1p63)), "f").at(0), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(values_as<double>(array(DType::I64, le(std::numeric_limits<std::int64_t>::min())), "f").at(0), -0x1p63);
    EXPECT_EQ(values_as<float>(array(DType::F64, le(0.1)), "f").at(0), 0.1F);
    EXPECT_EQ(values_as<float>(array(DType::BF16, le(std::uint16_t{0xBF80})), "f").at(0), -1.0F);
    EXPECT_TRUE(std::isinf(values_as<float>(array(DType::F64, le(std::numeric_limits<double>::infinity())), "f").at(0)));
}

// --- against NumPy ---------------------------------------------------------------------------------------------------------

TEST(NpyWriter, NumpyReadsTheSameBits) {
    const test::TemporaryFolder folder;
    std::vector<std::string> checks;
    const auto write = [&](const std::string& name, NamedArray array, const std::string& dtype, const std::string& shape) {
        write_npy(folder / (name + ".npy"), view_of(array));
        const NamedArray back = read_npy(folder / (name + ".npy"));
        EXPECT_EQ(back.name, name);
        EXPECT_EQ(back.bytes, array.bytes);
        EXPECT_EQ(back.shape, array.shape);
        EXPECT_EQ(back.dtype, array.dtype);
        test::put_file(folder / (name + ".raw"), {reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
        checks.push_back("a = np.load('" + name + ".npy'); assert a.dtype == np.dtype('" + dtype + "') and a.shape == " + shape +
                         ", (a.dtype, a.shape)\n" + "assert a.tobytes() == open('" + name + ".raw', 'rb').read()");
    };
    const std::vector<float> floats = {1.5F, std::nanf("3"), -0.0F, std::numeric_limits<float>::infinity(), 1e-45F, 6};
    const std::vector<double> doubles = {0.1, -1e300};
    const std::vector<std::int64_t> integers = {-1, std::numeric_limits<std::int64_t>::max(), 0};
    const std::vector<std::uint8_t> flags = {1, 0};
    write("matrix", make_array<float>("", {2, 3}, floats), "float32", "(2, 3)");
    write("vector", make_array<double>("", {2}, doubles), "float64", "(2,)");
    write("scalar", make_array<double>("", {}, std::span(doubles).first(1)), "float64", "()");
    write("integers", make_array<std::int64_t>("", {1, 3, 1}, integers), "int64", "(1, 3, 1)");
    write("empty", make_array<float>("", {0, 7}, {}), "float32", "(0, 7)");
    NamedArray booleans = make_array<std::uint8_t>("", {2}, flags);
    booleans.dtype = DType::Bool;
    write("booleans", booleans, "bool", "(2,)");
    NamedArray halves = make_array<std::uint8_t>("", {2}, flags);
    halves.dtype = DType::F16;
    halves.shape = {1};
    write("halves", halves, "float16", "(1,)");
    EXPECT_EQ(test::file_bytes(folder / "matrix.npy").size() % 4, 0U);
    EXPECT_EQ((test::file_bytes(folder / "matrix.npy").size() - 24) % 64, 0U) << "the data begin on a 64-byte boundary";
    std::string script = "import numpy as np\n";
    for (const std::string& check : checks) script += check + "\n";
    test::run_numpy(folder.path(), script);
}

TEST(Npy, ReadsWhatThisNumpyWrites) {
    const test::TemporaryFolder folder;
    if (!test::run_numpy(folder.path(), "import numpy as np\n"
                                        "a = np.arange(24.0).reshape(2, 3, 4)\n"
                                        "np.save('c.npy', a)\n"
                                        "np.save('f.npy', np.asfortranarray(a))\n"
                                        "np.save('b.npy', a.astype('>i2'))\n"
                                        "np.save('h.npy', a.astype('f2'))\n"
                                        "np.lib.format.write_array(open('v2.npy', 'wb'), a, version=(2, 0))\n"
                                        "np.lib.format.write_array(open('v3.npy', 'wb'), a, version=(3, 0))\n"
                                        "np.save('o.npy', np.array([{}], dtype=object), allow_pickle=True)\n"))
        return;
    std::vector<double> expected(24);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<double>(i);
    for (const char* name : {"c.npy", "f.npy", "b.npy", "h.npy", "v2.npy", "v3.npy"}) {
        const NamedArray array = read_npy(folder / name);
        EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3, 4})) << name;
        EXPECT_EQ(values_as<double>(array, name), expected) << name;
    }
    expect_refused("N12", FileFault::Unsupported, "o.npy", kNpyMemory, [&] { read_npy(folder / "o.npy"); });
}

TEST(NpyWriter, RefusesWhatNumpyLacks) {
    const test::TemporaryFolder folder;
    NamedArray array{"a", DType::BF16, {1}, std::vector<std::byte>(2)};
    expect_refused("BF16", FileFault::Unsupported, "a.npy", kNpyMemory, [&] { write_npy(folder / "a.npy", view_of(array)); });
    array.dtype = DType::F32;
    expect_refused("bytes", FileFault::Schema, "a.npy", kNpyMemory, [&] { write_npy(folder / "a.npy", view_of(array)); });
    EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace attn
