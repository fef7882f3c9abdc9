import Testing

@testable import CampanileRelay

struct FrameTests {
  @Test(arguments: Samples.ofMembers)
  func memberFrameReturns(frame: MemberFrame) throws {
    var parser = FrameParser<MemberFrame>()
    parser.append(Samples.bytes(of: [frame]))
    #expect(try parser.next() == frame)
    #expect(try parser.next() == nil)
  }

  @Test(arguments: Samples.ofHubs)
  func hubFrameReturns(frame: HubFrame) throws {
    var parser = FrameParser<HubFrame>()
    parser.append(Samples.bytes(of: [frame]))
    #expect(try parser.next() == frame)
    #expect(try parser.next() == nil)
  }

  @Test func lengthCountsWhatFollows() {
    var bytes: [UInt8] = [9]
    MemberFrame.flush(token: 0x0102).append(to: &bytes)
    #expect(bytes == [9, 9, 0, 0, 0, 12, 2, 1, 0, 0, 0, 0, 0, 0])
  }

  private func frames<Frame: WireFrame>(
    of parts: [ArraySlice<UInt8>], as _: Frame.Type
  ) throws -> [Frame] {
    var parser = FrameParser<Frame>()
    var frames: [Frame] = []
    for part in parts {
      parser.append(part)
      while let frame = try parser.next() { frames.append(frame) }
    }
    return frames
  }

  @Test func everySplitInTwoGivesTheSameFrames() throws {
    let members = Samples.bytes(of: Samples.ofMembers)
    for split in members.indices {
      let parts = [members[..<split], members[split...]]
      #expect(try frames(of: parts, as: MemberFrame.self) == Samples.ofMembers)
    }
    let hubs = Samples.bytes(of: Samples.ofHubs)
    for split in hubs.indices {
      let parts = [hubs[..<split], hubs[split...]]
      #expect(try frames(of: parts, as: HubFrame.self) == Samples.ofHubs)
    }
  }

  @Test(arguments: [1, 2, 3, 5, 7, 64])
  func partsOfAnySizeGiveTheSameFrames(size: Int) throws {
    let bytes = Samples.bytes(of: Samples.ofMembers + Samples.ofMembers)
    let parts = stride(from: 0, to: bytes.count, by: size).map {
      bytes[$0..<min($0 + size, bytes.count)]
    }
    #expect(
      try frames(of: parts, as: MemberFrame.self) == Samples.ofMembers + Samples.ofMembers)
  }

  /// A frame that says that it is shorter than its fields, for each shorter length.
  @Test func truncatedFramesAreRefused() {
    for frame in Samples.ofMembers {
      let bytes = Samples.bytes(of: [frame])
      for count in 5..<bytes.count {
        var parser = FrameParser<MemberFrame>()
        parser.append([UInt8(truncatingIfNeeded: count - 4), UInt8((count - 4) >> 8), 0, 0])
        parser.append(bytes[4..<count])
        #expect(throws: FrameError.self, "\(frame) with \(count) bytes") { try parser.next() }
      }
    }
  }

  @Test func bytesAfterTheLastFieldAreRefused() {
    var bytes = Samples.bytes(of: [HubFrame.flushed(token: 1)])
    bytes[0] += 1
    var parser = FrameParser<HubFrame>()
    parser.append(bytes + [0])
    #expect(throws: FrameError.self) { try parser.next() }
  }

  @Test(arguments: [[0, 0, 0, 0], [1, 0, 0x40, 0], [0xFF, 0xFF, 0xFF, 0xFF]] as [[UInt8]])
  func lengthIsCheckedBeforeTheBytesAreThere(bytes: [UInt8]) {
    var parser = FrameParser<HubFrame>()
    parser.append(bytes)
    #expect(throws: FrameError.self) { try parser.next() }
  }

  @Test func theLongestLengthIsAllowed() throws {
    var parser = FrameParser<HubFrame>()
    parser.append([0, 0, 0x40, 0, 10])
    #expect(try parser.next() == nil)
  }

  @Test func unknownTypesAreRefused() {
    for type in [0, 14, 255] as [UInt8] {
      var parser = FrameParser<MemberFrame>()
      parser.append([1, 0, 0, 0, type])
      #expect(throws: FrameError.self) { try parser.next() }
    }
    for type in [0, 13, 255] as [UInt8] {
      var parser = FrameParser<HubFrame>()
      parser.append([1, 0, 0, 0, type])
      #expect(throws: FrameError.self) { try parser.next() }
    }
  }

  /// Each byte of each frame is set to some other values.
  ///
  /// The result is a frame or an error.
  @Test func changedBytesNeverTrap() {
    var refused = 0
    for frame in Samples.ofMembers {
      let bytes = Samples.bytes(of: [frame])
      for index in bytes.indices {
        for value in [0, 1, 0x7F, 0x80, 0xFF] as [UInt8] {
          var changed = bytes
          changed[index] = value
          var parser = FrameParser<MemberFrame>()
          parser.append(changed)
          do { _ = try parser.next() } catch { refused += 1 }
        }
      }
    }
    #expect(refused > 100)
  }

  @Test func anotherVersionIsRefused() {
    var hello = MemberFrame.Hello(1)
    hello.version = protocolVersion + 1
    var parser = FrameParser<MemberFrame>()
    parser.append(Samples.bytes(of: [MemberFrame.hello(hello)]))
    #expect(throws: FrameError.self) { try parser.next() }
  }

  @Test func badTextIsRefused() {
    var bytes = Samples.bytes(of: [MemberFrame.subscribe("abc")])
    bytes[10] = 0xFF
    var parser = FrameParser<MemberFrame>()
    parser.append(bytes)
    #expect(throws: FrameError.self) { try parser.next() }
  }
}

@Suite("Strings of frames")
struct FrameStringTests {
  @Test("What is not UTF-8 is refused, and its replacement character is a character like others")
  func strings() throws {
    for bad: [UInt8] in [[0xFF], [0xC3], [0x61, 0xED, 0xA0, 0x80]] {
      let bytes = [UInt8(bad.count), 0, 0, 0] + bad
      var reader = FrameReader(bytes, from: 0, to: bytes.count)
      #expect(throws: FrameError.self) { try String(from: &reader) }
    }
    for good in ["", "a.b", "\u{FFFD}", "Ä\u{1F514}"] {
      let bytes = [UInt8(good.utf8.count), 0, 0, 0] + Array(good.utf8)
      var reader = FrameReader(bytes, from: 0, to: bytes.count)
      #expect(try String(from: &reader) == good)
    }
  }
}
