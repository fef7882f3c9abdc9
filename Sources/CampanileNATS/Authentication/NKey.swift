#if NKeys
  import Crypto

  /// The key of a user: it signs what a server asks for, and never travels.
  struct NKey: Sendable, CustomStringConvertible {
    /// The name by which the server knows the user.
    let publicKey: String
    private let key: Curve25519.Signing.PrivateKey

    /// Reads a seed, which begins with SU.
    init(seed: Secret) throws(AuthenticationError) {
      guard let bytes = Base32.decode(seed.text), bytes.count == 36,
        [UInt8](bytes[..<34]).crc16 == UInt16(bytes[34]) | UInt16(bytes[35]) << 8
      else { throw AuthenticationError("The nkey seed has a wrong length or check sum.") }
      // Three bits say that it is a seed, the next five whose.
      let user: UInt8 = 20 << 3
      guard bytes[0] & 0xF8 == 18 << 3, (bytes[0] & 7) << 5 | bytes[1] >> 3 == user else {
        throw AuthenticationError("The nkey seed is not that of a user: it doesn't begin with SU.")
      }
      do {
        key = try Curve25519.Signing.PrivateKey(rawRepresentation: bytes[2..<34])
      } catch {
        throw AuthenticationError("The nkey seed is no key.")
      }
      let raw = [user] + [UInt8](key.publicKey.rawRepresentation)
      let sum = raw.crc16
      publicKey = Base32.encode(raw + [UInt8(sum & 0xFF), UInt8(sum >> 8)])
    }

    /// Signs what a server asks for.
    func sign(_ nonce: String?) throws(AuthenticationError) -> String {
      guard let nonce else {
        throw AuthenticationError("The server asks for no signature, so that a key says nothing.")
      }
      do {
        return [UInt8](try key.signature(for: Array(nonce.utf8))).base64URL
      } catch {
        throw AuthenticationError("The server's nonce could not be signed.")
      }
    }

    var description: String { publicKey }
  }
#endif
