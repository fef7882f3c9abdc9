#if NATS
  import NIOCore

  /// The bytes of frames, in pieces that are forgotten when each of their frames is.
  struct FrameStore {
    /// Where a frame is.
    struct Place: Equatable {
      /// The number of the piece.
      var piece: UInt32
      var start: UInt32
      var length: UInt32

      var range: Range<Int> { Int(start)..<Int(start + length) }
    }

    /// The piece that frames are added to.
    private var last: [UInt8] = []
    /// How many of its frames are not forgotten.
    private var lastCount = 0
    private var lastNumber: UInt32 = 0
    /// The pieces before, and how many of their frames are not forgotten.
    private var pieces = CircularBuffer<[UInt8]>()
    private var counts = CircularBuffer<Int>()
    /// The memory of pieces that were forgotten.
    private var spare: [[UInt8]] = []

    /// The bytes after which a new piece begins.
    private static let pieceSize = 56 << 10
    private static let spareLimit = 16

    /// The bytes of the pieces that are kept.
    var byteCount: Int { pieces.reduce(last.count) { $0 + $1.count } }

    /// Adds a frame, without its last two bytes, which are those of each frame.
    mutating func append(_ head: [UInt8], _ payload: ArraySlice<UInt8>) -> Place {
      if last.count >= Self.pieceSize { beginPiece() }
      let start = last.count
      last += head
      last += payload
      last.append(UInt8(ascii: "\r"))
      last.append(UInt8(ascii: "\n"))
      lastCount += 1
      return Place(
        piece: lastNumber, start: UInt32(start), length: UInt32(last.count - start))
    }

    @inline(never)
    private mutating func beginPiece() {
      var next = spare.popLast() ?? []
      next.reserveCapacity(Self.pieceSize + Self.pieceSize / 8)
      swap(&next, &last)
      pieces.append(next)
      counts.append(lastCount)
      (lastCount, lastNumber) = (0, lastNumber &+ 1)
    }

    /// How far a piece is before the last one.
    private func offset(_ piece: UInt32) -> Int { pieces.count - Int(lastNumber &- piece) }

    mutating func forget(_ place: Place) {
      if place.piece == lastNumber {
        lastCount -= 1
        if lastCount == 0 { last.removeAll(keepingCapacity: last.capacity <= 2 * Self.pieceSize) }
        return
      }
      let offset = offset(place.piece)
      counts[offset: offset] -= 1
      if counts[offset: offset] == 0 { forgetPiece(offset) }
    }

    @inline(never)
    private mutating func forgetPiece(_ offset: Int) {
      var bytes: [UInt8] = []
      swap(&bytes, &pieces[offset: offset])
      if spare.count < Self.spareLimit, bytes.capacity <= 2 * Self.pieceSize {
        bytes.removeAll(keepingCapacity: true)
        spare.append(bytes)
      }
      while counts.first == 0 {
        counts.removeFirst()
        pieces.removeFirst()
      }
    }

    /// Writes frames of a piece that follow each other.
    func write(_ place: Place, to output: inout ByteBuffer) {
      if place.piece == lastNumber {
        output.writeBytes(last[place.range])
      } else {
        output.writeBytes(pieces[offset: offset(place.piece)][place.range])
      }
    }

    /// The second word of a frame: what it is published to.
    func subject(_ place: Place) -> String {
      let piece = place.piece == lastNumber ? last : pieces[offset: offset(place.piece)]
      let words = piece[place.range].split(
        separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
      return String(decoding: words[1], as: UTF8.self)
    }
  }
#endif
