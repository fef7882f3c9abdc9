#if NKeys
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The letters in which keys of NATS are written: five bits each, without padding.
  enum Base32 {
    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
      var (text, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
      for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        count += 8
        while count >= 5 {
          count -= 5
          text.append(letters[Int(bits >> count & 31)])
        }
        bits &= 1 << count - 1
      }
      if count > 0 { text.append(letters[Int(bits << (5 - count) & 31)]) }
      return String(decoding: text, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
      var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
      for letter in text.utf8 {
        guard let value = letters.firstIndex(of: letter) else { return nil }
        bits = bits << 5 | UInt32(value)
        count += 5
        if count >= 8 {
          count -= 8
          bytes.append(UInt8(bits >> count & 0xFF))
        }
        bits &= 1 << count - 1
      }
      return bytes
    }
  }

  extension [UInt8] {
    /// The check sum of keys of NATS: CRC-16 as of XMODEM.
    var crc16: UInt16 {
      reduce(0) { sum, byte in
        (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in
          sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
        }
      }
    }

    /// Base 64 for addresses, without padding.
    var base64URL: String {
      String(
        Data(self).base64EncodedString().prefix { $0 != "=" }.map {
          $0 == "+" ? "-" : $0 == "/" ? "_" : $0
        })
    }
  }
#endif
