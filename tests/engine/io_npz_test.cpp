#include "engine/io/npz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "engine/doctor/doctor.hpp"
#include "engine/io/file_error.hpp"
#include "tests/engine/io_support.hpp"
#include "tests/engine/numpy_process.hpp"

namespace attn {
namespace {

using test::expect_refused;
using test::le;

constexpr std::size_t kNpzMemory = std::size_t{4} << 20;

/// CRC-32 of a zip entry (APPNOTE 4.4.7).
std::uint32_t crc32(const std::string& bytes) {
    std::uint32_t crc = ~0U;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
    return ~crc;
}

/// A zip entry whose two headers can be set arbitrarily.
struct Entry {
    std::string name, data;
    std::string local_name = name;
    std::uint32_t crc = crc32(data), local_crc = crc;
    std::uint32_t packed = static_cast<std::uint32_t>(data.size()), unpacked = packed, local_packed = packed, local_unpacked = unpacked;
    std::uint16_t method = 0, flags = 0, disk = 0;
    std::string local_extra{}, central_extra{};
    std::int64_t offset = -1;  ///< -1: the real offset
};

struct Zip {
    std::vector<Entry> entries{};
    std::int64_t count = -1, directory_offset = -1, directory_size = -1;  ///< -1: the real values
    std::string before_end{};                                             ///< between the directory and the end record
    std::uint16_t disk = 0;

    std::string bytes() const {
        std::string out, directory;
        for (const Entry& e : entries) {
            const std::uint32_t offset = e.offset < 0 ? static_cast<std::uint32_t>(out.size()) : static_cast<std::uint32_t>(e.offset);
            const auto common = [&](std::uint32_t crc, std::uint32_t packed, std::uint32_t unpacked, const std::string& name,
                                    const std::string& extra) {
                return le(std::uint16_t{20}) + le(e.flags) + le(e.method) + le(std::uint32_t{0}) + le(crc) + le(packed) + le(unpacked) +
                       le(static_cast<std::uint16_t>(name.size())) + le(static_cast<std::uint16_t>(extra.size()));
            };
            out += "PK\3\4" + common(e.local_crc, e.local_packed, e.local_unpacked, e.local_name, e.local_extra) + e.local_name +
                   e.local_extra + e.data;
            directory += "PK\1\2" + le(std::uint16_t{20}) + common(e.crc, e.packed, e.unpacked, e.name, e.central_extra) +
                         le(std::uint16_t{0}) + le(e.disk) + le(std::uint16_t{0}) + le(std::uint32_t{0}) + le(offset) + e.name +
                         e.central_extra;
        }
        const auto total = static_cast<std::uint16_t>(count < 0 ? static_cast<std::int64_t>(entries.size()) : count);
        const auto place = static_cast<std::uint32_t>(directory_offset < 0 ? static_cast<std::int64_t>(out.size()) : directory_offset);
        const auto size = static_cast<std::uint32_t>(directory_size < 0 ? static_cast<std::int64_t>(directory.size()) : directory_size);
        return out + directory + before_end + "PK\5\6" + le(disk) + le(disk) + le(total) + le(total) + le(size) + le(place) +
               le(std::uint16_t{0});
    }
};

std::string npy(const std::string& shape = "(2,)", const std::string& data = le(1.5F) + le(-2.0F)) {
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
    return std::string("\x93NUMPY\1\0", 8) + le(static_cast<std::uint16_t>(header.size())) + header + data;
}
Entry array_entry(const std::string& name = "a.npy") { return {.name = name, .data = npy()}; }

class Npz : public testing::Test {
protected:
    ArrayFile read(const std::string& bytes) {
        test::put_file(folder_ / "bad.npz", bytes);
        return read_npz(folder_ / "bad.npz");
    }
    void refused(const std::string& label, FileFault fault, const std::string& bytes, std::size_t memory = kNpzMemory) {
        test::put_file(folder_ / "bad.npz", bytes);
        expect_refused(label, fault, "bad.npz", memory, [&] { read_npz(folder_ / "bad.npz"); });
    }
    void entry_refused(const std::string& label, FileFault fault, const std::function<void(Entry&)>& spoil) {
        Entry entry = array_entry();
        spoil(entry);
        refused(label, fault, Zip{.entries = {array_entry("first.npy"), entry}}.bytes());
    }
    test::TemporaryFolder folder_;
};

TEST_F(Npz, TheBuilderOfTheseTestsMakesGoodArchives) {
    const ArrayFile file = read(Zip{.entries = {array_entry(), array_entry("b.npy")}}.bytes());
    ASSERT_EQ(file.arrays.size(), 2U);
    EXPECT_EQ(file.values<double>("b"), (std::vector<double>{1.5, -2}));
    EXPECT_TRUE(read(Zip{}.bytes()).arrays.empty());
}

TEST_F(Npz, Directories) {
    const std::string good = Zip{.entries = {array_entry()}}.bytes();
    refused("Z01", FileFault::Format, good.substr(0, good.size() - 22));
    refused("Z01 empty", FileFault::Truncated, "");
    refused("Z01 text", FileFault::Format, std::string(100, 'x'));
    refused("Z02 fewer", FileFault::Format, Zip{.entries = {array_entry(), array_entry("b.npy")}, .count = 1}.bytes());
    refused("Z02 more", FileFault::Format, Zip{.entries = {array_entry()}, .count = 2}.bytes());
    refused("Z03", FileFault::Truncated, Zip{.entries = {array_entry()}, .directory_offset = 0x7FFFFFFF}.bytes());
    refused("Z03 size", FileFault::Truncated, Zip{.entries = {array_entry()}, .directory_size = 0x7FFFFFFF}.bytes());
    refused("gap before the end", FileFault::Format, Zip{.entries = {array_entry()}, .before_end = "0123456789"}.bytes());
    Zip many{.entries = {array_entry()}, .count = 0xFFFF};
    const auto with_locator = [&](std::uint64_t place) {
        Zip zip = many;
        zip.before_end = "PK\6\7" + le(std::uint32_t{0}) + le(place) + le(std::uint32_t{1});
        return zip.bytes();
    };
    refused("Z04 no locator", FileFault::Format, many.bytes());
    refused("Z04 itself", FileFault::Format, with_locator(good.size() - 22));
    refused("Z04 outside", FileFault::Format, with_locator(std::uint64_t{1} << 60));
    refused("Z04 wrong place", FileFault::Format, with_locator(0));
    std::string entries;
    for (int i = 0; i < 100'000; ++i) entries += std::string("PK\1\2", 4) + std::string(42, '\0');
    const std::string end64 = "PK\6\6" + le(std::uint64_t{44}) + le(std::uint32_t{0}) + le(std::uint64_t{0}) + le(std::uint64_t{100'000}) +
                              le(std::uint64_t{100'000}) + le(std::uint64_t{entries.size()}) + le(std::uint64_t{0});
    refused("Z05", FileFault::Limit,
            entries + end64 + "PK\6\7" + le(std::uint32_t{0}) + le(std::uint64_t{entries.size()}) + le(std::uint32_t{1}) +
                Zip{.count = 0xFFFF}.bytes());
    refused("split", FileFault::Unsupported, Zip{.entries = {array_entry()}, .disk = 1}.bytes());
    entry_refused("split entry", FileFault::Unsupported, [](Entry& e) { e.disk = 3; });
}

TEST_F(Npz, BombsAndOverlaps) {
    Zip overlap;
    for (int i = 0; i < 1000; ++i)
        overlap.entries.push_back({.name = std::to_string(i) + ".npy",
                                   .data = i == 0 ? npy() : "",
                                   .local_name = "0.npy",
                                   .crc = crc32(npy()),
                                   .packed = static_cast<std::uint32_t>(npy().size()),
                                   .offset = 0});
    refused("Z07", FileFault::Format, overlap.bytes());  // the second name contradicts the shared local header
    Zip inside;
    inside.entries = {{.name = "a.npy", .data = npy() + Zip{.entries = {array_entry("b.npy")}}.bytes()}, array_entry("b.npy")};
    inside.entries[1].offset = static_cast<std::int64_t>(30 + 5 + npy().size());
    refused("Z07 nested", FileFault::Range, inside.bytes());
    entry_refused("Z06 array", FileFault::Limit, [](Entry& e) {
        e.method = 8;
        e.unpacked = e.local_unpacked = (1U << 30U) + 1;
    });
    entry_refused("Z06 ratio", FileFault::Limit, [](Entry& e) {
        e.method = 8;
        e.unpacked = e.local_unpacked = static_cast<std::uint32_t>(e.data.size()) * 1200;
    });
    const auto big = [](const char* name) {
        Entry e = array_entry(name);
        e.data.resize(1 << 20);
        e.packed = e.local_packed = 1 << 20;
        e.unpacked = e.local_unpacked = 1U << 30U;
        e.method = 8;
        return e;
    };
    refused("Z06 total", FileFault::Limit, Zip{.entries = {big("a.npy"), big("b.npy"), big("c.npy")}}.bytes());
}

TEST_F(Npz, HeadersThatLie) {
    entry_refused("Z08 stored", FileFault::Range, [](Entry& e) { e.unpacked = e.local_unpacked = 100; });
    entry_refused("Z08 stored, more", FileFault::Range, [](Entry& e) { e.unpacked = e.local_unpacked = 1'000'000; });
    entry_refused("Z09 name", FileFault::Format, [](Entry& e) { e.local_name = "c.npy"; });
    entry_refused("Z09 size", FileFault::Range, [](Entry& e) { e.local_unpacked += 1; });
    entry_refused("Z09 packed", FileFault::Range, [](Entry& e) { e.local_packed -= 1; });
    entry_refused("Z09 checksum", FileFault::Range, [](Entry& e) { e.local_crc ^= 1U; });
    entry_refused("Z10", FileFault::Format, [](Entry& e) { e.crc = e.local_crc = e.crc ^ 1U; });
    entry_refused("into the directory", FileFault::Truncated,
                  [](Entry& e) { e.packed = e.unpacked = e.local_packed = e.local_unpacked = 1000; });
    Entry moved = array_entry();
    moved.offset = 7;
    refused("no entry there", FileFault::Format, Zip{.entries = {moved}}.bytes());
    entry_refused("beyond", FileFault::Truncated, [](Entry& e) { e.offset = 0x7FFFFFFF; });
    entry_refused("zip64 missing", FileFault::Format, [](Entry& e) { e.unpacked = 0xFFFFFFFF; });
    entry_refused("zip64 short", FileFault::Format, [](Entry& e) {
        e.unpacked = 0xFFFFFFFF;
        e.central_extra = le(std::uint16_t{1}) + le(std::uint16_t{4}) + "1234";
    });
    for (const int method : {12, 14, 99})
        entry_refused("Z12", FileFault::Unsupported, [&](Entry& e) { e.method = static_cast<std::uint16_t>(method); });
    entry_refused("Z12 encrypted", FileFault::Unsupported, [](Entry& e) { e.flags = 1; });
}

TEST_F(Npz, NamesAndForeignEntries) {
    refused("Z13", FileFault::Duplicate, Zip{.entries = {array_entry(), array_entry()}}.bytes());
    for (const std::string& name :
         {std::string("../x.npy"), std::string("/etc/x.npy"), std::string("a\\b.npy"), std::string("a\0b.npy", 7), std::string(".npy")}) {
        const ArrayFile file = read(Zip{.entries = {array_entry(name)}}.bytes());
        ASSERT_EQ(file.arrays.size(), 1U) << "Z14";
        EXPECT_EQ(file.arrays[0].name, name.substr(0, name.size() - 4));
    }
    EXPECT_EQ(folder_.entries(), 1) << "Z14: a name is never a path";
    const std::string nested = Zip{.entries = {array_entry()}}.bytes();
    const ArrayFile file = read(
        Zip{.entries = {{.name = "in.zip", .data = nested}, {.name = "readme", .data = "hi"}, {.name = "", .data = "x"}, array_entry()}}
            .bytes());
    EXPECT_EQ(file.arrays.size(), 1U) << "Z15";
    EXPECT_EQ(file.skipped.size(), 3U);
    refused("Z16", FileFault::Truncated, Zip{.entries = {array_entry(), {.name = "b.npy", .data = npy("(3,)")}}}.bytes());
    refused("Z16", FileFault::Format, Zip{.entries = {array_entry(), {.name = "b.npy", .data = std::string(64, 'x')}}}.bytes());
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data) {
    const std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n";
    return std::string("\x93NUMPY\1\0", 8) + le(static_cast<std::uint16_t>(header.size())) + header + data;
}

/// What nobody asks for need not be readable.
TEST_F(Npz, ArraysOfOtherThanNumbersAreLeftOutAndListed) {
    const Zip zip{.entries = {{.name = "tokens.npy", .data = npy_of("'<U3'", "(2,)", std::string(24, 't'))},
                              {.name = "objects.npy", .data = npy_of("'|O'", "(1,)", "\x80\x04N.")},
                              {.name = "dates.npy", .data = npy_of("'<M8[s]'", "(1,)", std::string(8, 'd'))},
                              {.name = "complex.npy", .data = npy_of("'<c8'", "(1,)", std::string(8, 'c'))},
                              {.name = "records.npy", .data = npy_of("[('a', '<f4')]", "(1,)", std::string(4, 'r'))},
                              array_entry(),
                              {.name = "keep.npy", .data = npy_of("'|b1'", "(2,)", std::string("\1\0", 2))}}};
    const ArrayFile file = read(zip.bytes());
    ASSERT_EQ(file.arrays.size(), 2U);
    EXPECT_EQ(file.arrays[0].name, "a");
    EXPECT_EQ(file.arrays[1].name, "keep");
    EXPECT_EQ(file.arrays[1].dtype, DType::Bool);
    ASSERT_EQ(file.skipped.size(), 5U);
    EXPECT_EQ(file.skipped[0].name, "tokens");
    EXPECT_EQ(file.skipped[0].why, "element type '<U3' cannot be read");
    EXPECT_EQ(file.skipped[4].why, "a structured array cannot be read");
    try {
        file.at("objects");
        FAIL() << "read";
    } catch (const FileError& error) {
        EXPECT_EQ(error.fault(), FileFault::Unsupported);
        EXPECT_NE(std::string(error.what()).find("array \"objects\": element type '|O' cannot be read"), std::string::npos);
    }
}

/// Recorded attention with the words of the text beside it, as NumPy wrote it.
TEST_F(Npz, WordsBesideAttentionDoNotKeepTheDoctorFromIt) {
    const doctor::Diagnosis diagnosis =
        doctor::examine_file(std::filesystem::path(ATTN_TEST_DATA) / "golden/doctor/attention_with_strings.npz");
    EXPECT_EQ(diagnosis.verdict, doctor::Verdict::Correct) << diagnosis.explanation;
    const auto says = std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(), [](const doctor::Finding& finding) {
        return finding.sentence.find("\"tokens\" was left out: element type '<U") != std::string::npos;
    });
    EXPECT_EQ(says, 1);
}

std::vector<NamedArray> sample_arrays() {
    std::vector<double> wave(200);
    for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = static_cast<double>(i % 10);
    const std::vector<float> few = {1, 2, 3};
    return {make_array<double>("wave", {10, 20}, wave), make_array<float>("head0.w_q", {3}, few),
            make_array<float>("注意", {}, std::span(few).first(1)), make_array<float>("none", {0}, {})};
}
std::vector<ArrayView> views(const std::vector<NamedArray>& arrays) {
    std::vector<ArrayView> out;
    for (const NamedArray& array : arrays) out.push_back(view_of(array));
    return out;
}

TEST_F(Npz, RoundTripIsBitExactAndRepeatable) {
    const auto arrays = sample_arrays();
    for (const bool compressed : {false, true}) {
        write_npz(folder_ / "a.npz", views(arrays), compressed);
        EXPECT_EQ(read_npz(folder_ / "a.npz").arrays, arrays);
        const std::string first = test::file_bytes(folder_ / "a.npz");
        write_npz(folder_ / "a.npz", views(arrays), compressed);
        EXPECT_EQ(test::file_bytes(folder_ / "a.npz"), first);
        EXPECT_EQ(first.size() < 2000, compressed);
    }
    write_npz(folder_ / "empty.npz", {});
    EXPECT_TRUE(read_npz(folder_ / "empty.npz").arrays.empty());
    EXPECT_EQ(folder_.entries(), 2);
}

TEST_F(Npz, DamagedCompressedData) {
    const std::vector<NamedArray> arrays = {sample_arrays()[0], sample_arrays()[1]};
    write_npz(folder_ / "a.npz", views(arrays), true);
    const std::string good = test::file_bytes(folder_ / "a.npz");
    for (std::size_t keep = 0; keep < good.size(); ++keep) EXPECT_THROW(read(good.substr(0, keep)), FileError) << keep;
    int refusals = 0;
    for (std::size_t i = 0; i < good.size(); ++i) {  // Z11, Z08: with any byte changed, what is accepted must be the same arrays
        std::string changed = good;
        changed[i] = static_cast<char>(changed[i] ^ 0x15);
        try {
            const std::vector<NamedArray> read_back = read(changed).arrays;
            for (std::size_t k = 0; k < read_back.size(); ++k) EXPECT_EQ(read_back[k].bytes, arrays[k].bytes) << i;
        } catch (const FileError&) {
            ++refusals;
        }
    }
    EXPECT_GT(refusals, static_cast<int>(good.size() / 2));
}

/// An entry whose deflate stream is a single uncompressed block of `content`, declared as `announced` bytes.
Entry deflated(const std::string& content, std::size_t announced) {
    const auto length = static_cast<std::uint16_t>(content.size());
    Entry entry{.name = "a.npy", .data = "\1" + le(length) + le(static_cast<std::uint16_t>(~length)) + content};
    entry.crc = entry.local_crc = crc32(content.substr(0, announced));
    entry.unpacked = entry.local_unpacked = static_cast<std::uint32_t>(announced);
    entry.method = 8;
    return entry;
}

TEST_F(Npz, CompressedSizesThatLie) {
    const std::string whole = npy();
    EXPECT_EQ(read(Zip{.entries = {deflated(whole, whole.size())}}.bytes()).arrays.size(), 1U);
    const std::string longer = whole + std::string(60'000, '\0');
    refused("Z08 goes on", FileFault::Range, Zip{.entries = {deflated(longer, whole.size())}}.bytes());
    const std::string claims = npy("(1000,)", std::string(4000, '\0'));
    refused("Z08 stops early", FileFault::Range, Zip{.entries = {deflated(claims.substr(0, 3000), claims.size())}}.bytes());
    Entry bad = deflated(whole, whole.size());
    bad.data[0] = 7;  // Z11: a block type that does not exist
    refused("Z11", FileFault::Format, Zip{.entries = {bad}}.bytes());
    bad.data[0] = 5;  // a Huffman table made of the array's bytes
    refused("Z11", FileFault::Format, Zip{.entries = {bad}}.bytes());
}

TEST_F(Npz, NumpyReadsOursAndWeReadNumpys) {
    write_npz(folder_ / "stored.npz", views(sample_arrays()), false);
    write_npz(folder_ / "deflated.npz", views(sample_arrays()), true);
    write_npz(folder_ / "empty.npz", {});
    if (!test::run_numpy(folder_.path(), "import numpy as np, zipfile\n"
                                         "for f in ('stored.npz', 'deflated.npz'):\n"
                                         "    assert zipfile.ZipFile(f).testzip() is None\n"
                                         "    z = np.load(f)\n"
                                         "    assert z.files == ['wave', 'head0.w_q', '注意', 'none'], z.files\n"
                                         "    assert z['wave'].shape == (10, 20) and (z['wave'].ravel() == np.arange(200) % 10).all()\n"
                                         "    assert z['注意'].shape == () and z['注意'] == 1 and z['none'].shape == (0,)\n"
                                         "assert np.load('empty.npz').files == []\n"
                                         "a = {'x': np.arange(6.0).reshape(2, 3), 'y': np.array([True, False]), 'ü': np.int64(-5)}\n"
                                         "np.savez('np_stored.npz', **a)\n"
                                         "np.savez_compressed('np_deflated.npz', **a)\n"
                                         "with zipfile.ZipFile('np_64.npz', 'w') as z:\n"
                                         "    with z.open('x.npy', 'w', force_zip64=True) as f: np.save(f, a['x'])\n"))
        return;
    for (const char* name : {"np_stored.npz", "np_deflated.npz"}) {
        const ArrayFile file = read_npz(folder_ / name);
        EXPECT_EQ(file.values<double>("x"), (std::vector<double>{0, 1, 2, 3, 4, 5})) << "V8 " << name;
        EXPECT_EQ(file.values<std::uint8_t>("y"), (std::vector<std::uint8_t>{1, 0}));
        EXPECT_EQ(file.values<std::int64_t>("ü"), std::vector<std::int64_t>{-5});
    }
    EXPECT_EQ(read_npz(folder_ / "np_64.npz").at("x").shape, (std::vector<std::int64_t>{2, 3})) << "V8";
}

TEST_F(Npz, WriterRefusesWhatCouldNotBeReadBack) {
    std::vector<NamedArray> arrays = sample_arrays();
    const auto refuse = [&](const char* label, FileFault fault) {
        expect_refused(label, fault, "w.npz", kNpzMemory, [&] { write_npz(folder_ / "w.npz", views(arrays)); });
        arrays = sample_arrays();
    };
    arrays[1].name = "wave";
    refuse("twice", FileFault::Duplicate);
    arrays[1].name = std::string("a\0b", 3);
    refuse("NUL", FileFault::Format);
    arrays[1].name = "\xFF";
    refuse("not UTF-8", FileFault::Format);
    arrays[1].bytes.pop_back();
    refuse("bytes", FileFault::Schema);
    EXPECT_EQ(folder_.entries(), 0);
}

TEST(NpzGolden, WorkedExamplesRead) {
    const std::filesystem::path folder = ATTN_TEST_DATA "/golden";
    const ArrayFile single = read_npz(folder / "notebook_single_head.npz");
    EXPECT_EQ(single.at("x").shape, (std::vector<std::int64_t>{4, 6}));
    EXPECT_EQ(single.at("x").dtype, DType::F64);
    EXPECT_EQ(read_npz(folder / "notebook_multi_head.npz").at("head2.weights").shape, (std::vector<std::int64_t>{4, 4}));
}

}  // namespace
}  // namespace attn
