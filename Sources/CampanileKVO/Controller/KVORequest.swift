internal import Campanile

/// One call to `observe`, whatever its form.
struct KVORequest<Object: AnyObject, Value> {
  let object: Object
  let path: KVOPath
  var read: (Object) -> Value
  let options: KVOChange<Value>.Options
  /// Whether the value is read on the main actor alone.
  let isOnMain: Bool
  let file: StaticString
  let line: UInt

  init(
    _ object: Object, _ path: AnyKeyPath, _ options: KVOChange<Value>.Options, isOnMain: Bool,
    _ file: StaticString, _ line: UInt, _ read: @escaping (Object) -> Value
  ) {
    self.object = object
    self.path = KVOPath(path)
    self.read = read
    self.options = options
    self.isOnMain = isOnMain
    self.file = file
    self.line = line
  }

  init(
    _ object: Object, _ keyPath: KeyPath<Object, Value>, _ options: KVOChange<Value>.Options,
    isOnMain: Bool = false, _ file: StaticString, _ line: UInt
  ) {
    self.init(object, keyPath, options, isOnMain: isOnMain, file, line) { $0[keyPath: keyPath] }
  }

  /// A request for what a closure reads; it is known by the key path of the object itself.
  init(
    _ object: Object, of read: @escaping (Object) -> Value, _ options: KVOChange<Value>.Options,
    isOnMain: Bool = false, _ file: StaticString, _ line: UInt
  ) {
    self.init(object, \Object.self, options, isOnMain: isOnMain, file, line, read)
  }

  var traits: PathObservation.Traits {
    .init(
      path: path, needsOld: options.needsOld, isPrior: options.isPrior,
      isDistinct: options.areEqual != nil,
      isOnMain: isOnMain, file: file, line: line)
  }

  /// Writes that nothing of what is read can be observed.
  func warnOfNothing() {
    SourceRegistry.warn(
      "\(file):\(line): \(path) of \(type(of: object)) reads no property that can be observed, "
        + "so its observer is never called")
  }
}

extension Optional<any Actor> {
  /// Whether it is the isolation of the main actor.
  var isMain: Bool { self === MainActor.shared }
}
