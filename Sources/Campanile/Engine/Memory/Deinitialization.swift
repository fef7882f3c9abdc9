internal import CampanileRuntime

#if canImport(ObjectiveC)
  import ObjectiveC
#endif

/// Whether the deinit of `object` has begun.
///
/// Such an object can be used until its deinit has returned, and nothing may keep it for longer.
/// Its memory cannot be reserved either. An optimized build may put the object on the stack, and
/// its memory is then gone when the deinit returns, even if references remain.
///
/// The check costs a retain and a release. A weak reference would answer the question too, but
/// would make each later retain and release of the object permanently slower.
package func isDeinitializing(_ object: AnyObject) -> Bool {
  #if canImport(ObjectiveC)
    // To form a weak reference to an object below NSObject stops the program there. Its runtime
    // asks this question first, which Swift's own root class answers too.
    typealias Answer = @convention(c) (AnyObject, Selector) -> ObjCBool
    let (question, type) = (sel_registerName("allowsWeakReference"), object_getClass(object))
    if class_respondsToSelector(type, question),
      let method = class_getMethodImplementation(type, question)
    {
      // SAFETY: the method has no parameter and returns a BOOL.
      let answer = unsafe unsafeBitCast(method, to: Answer.self)
      return unsafe !answer(object, question).boolValue
    }
    // The runtime forms no weak reference to an object in its deinit.
    weak let reference = object
    return reference == nil
  #else
    // SAFETY: the caller keeps the object, which Swift counts, as it does every object here.
    let memory = unsafe Unmanaged.passUnretained(object).toOpaque()
    guard let retained = unsafe swift_tryRetain(memory) else { return true }
    // SAFETY: this is the retain above.
    unsafe Unmanaged<AnyObject>.fromOpaque(retained).release()
    return false
  #endif
}
